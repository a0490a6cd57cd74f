//! From NCCL's and RCCL's logs and graphs: rings, trees and channels of every communicator.
