//! From source code: calls that communicate, found in syntax trees; nothing is executed.
