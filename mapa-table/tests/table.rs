//! Tables are read by their header and written so that they are read back.

use mapa_table::{Comments, Error, Sheet, columns, optional_text, text, write};
use serde::{Deserialize, Serialize};

/// Whole percent, as a type with words of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Percent(u8);

impl std::str::FromStr for Percent {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text
            .strip_suffix('%')
            .and_then(|number| number.parse().ok());
        number
            .map(Self)
            .ok_or_else(|| format!("`{text}`: expected percent, such as 5%"))
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}%", self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Named {
    name: String,
    #[serde(default)]
    count: u32,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Filled {
    #[serde(with = "text")]
    full: Percent,
    #[serde(with = "optional_text")]
    least: Option<Percent>,
}

impl Default for Filled {
    fn default() -> Self {
        Self {
            full: Percent(100),
            least: None,
        }
    }
}

fn read(text: &str) -> Result<Vec<(Named, Filled)>, Error> {
    let sheet = Sheet::read(text, Comments::Anywhere, "boxes")?;
    let known = [columns::<Named>(), columns::<Filled>()].concat();
    sheet.check(&["name"], &known)?;
    sheet
        .rows()
        .map(|row| Ok((row.read()?, row.read()?)))
        .collect()
}

fn named(name: &str, count: u32) -> Named {
    Named {
        name: name.to_owned(),
        count,
    }
}

#[test]
fn several_structs_read_one_row_each_by_its_own_columns() {
    assert_eq!(columns::<Filled>(), ["full", "least"]);
    let rows =
        read("# c\n\nFULL, name ,count\n5%,a b,3\n# between\n\n   \n,\"x,\"\"y\",\n").unwrap();
    let five = Filled {
        full: Percent(5),
        least: None,
    };
    assert_eq!(
        rows,
        [
            (named("a b", 3), five),
            (named("x,\"y", 0), Filled::default())
        ]
    );
}

#[test]
fn errors_name_line_column_and_what_was_expected() {
    for (text, message) in [
        ("# nothing\n", "empty: expected boxes"),
        (
            "\nname,size\n",
            "line 2: column `size`: expected name, count, full, least",
        ),
        ("name,Name\n", "line 1: two columns `name`: expected one"),
        (
            "title,count\n",
            "line 1: no column `name`, but a column `title`: expected name, count, full, least",
        ),
        ("count\n", "line 1: no column `name`: expected name"),
        (
            "name,count\n# c\n\na\n",
            "line 4: 1 fields: expected 2, as many as the header has; is the row cut off?",
        ),
        (
            "name\na,b\n",
            "line 2: 2 fields: expected 1, as many as the header has",
        ),
        (
            "name,count\na,1\n,1\n",
            "line 3: name is empty: expected a value",
        ),
        (
            "name,count\na,-1\n",
            "line 2: count `-1`: expected a whole number from 0 to 4294967295",
        ),
        (
            "name,full\na,5\n",
            "line 2: full `5`: expected percent, such as 5%",
        ),
        (
            "name,least\na,x%\n",
            "line 2: least `x%`: expected percent, such as 5%",
        ),
        (
            "name,count\n\"a,1\n",
            "line 2: a quote is not closed on its line: expected fields without line breaks",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn comments_stand_between_rows_only_where_they_may() {
    let sheet = Sheet::read("# a\nname\n#b\n", Comments::AboveHeader, "boxes").unwrap();
    assert_eq!(sheet.comments(), ["a"]);
    let names: Vec<_> = sheet.rows().map(|row| row.get("name")).collect();
    assert_eq!(names, [Some("#b")]);
    assert_eq!(sheet.rows().map(|row| row.line()).collect::<Vec<_>>(), [3]);
}

#[test]
fn cells_between_bars_keep_their_quotes_and_commas() {
    let text = "# c\nName|Tags\n\n a \"b |x=1,y=2\n\"c|\n";
    let sheet = Sheet::read_bars(text, "boxes").unwrap();
    sheet.check(&["name"], &[]).unwrap();
    let cells = sheet
        .rows()
        .map(|row| (row.line(), row.get("name"), row.get("tags")));
    let expected = [(4, Some("a \"b"), Some("x=1,y=2")), (5, Some("\"c"), None)];
    assert_eq!(cells.collect::<Vec<_>>(), expected);
    assert_eq!(sheet.header_error("x").line(), Some(2));
    let cut_off = Sheet::read_bars("a|b\n1\n", "boxes").unwrap();
    assert_eq!(cut_off.check(&[], &[]).unwrap_err().line(), Some(2));
    assert!(Sheet::read_bars("# c\n", "boxes").is_err());
}

#[test]
fn a_cell_that_the_header_lacks_is_called_by_the_name_it_is_given() {
    let mut sheet = Sheet::read("a,ranks,b\n1,2,3\n1,9,2,3\n", Comments::Anywhere, "x").unwrap();
    sheet.accept_unnamed("nodes", "ranks");
    sheet.check(&[], &[]).unwrap();
    let names = ["a", "nodes", "ranks", "b"];
    let rows: Vec<_> = sheet
        .rows()
        .map(|row| names.map(|name| row.get(name)))
        .collect();
    let [one, two, three, nine] = ["1", "2", "3", "9"].map(Some);
    assert_eq!(rows, [[one, None, two, three], [one, nine, two, three]]);
}

#[test]
fn what_is_written_is_read_back_without_columns_that_say_nothing() {
    let plain = |_| (named("", 0), Filled::default());
    let names = [columns::<Named>(), columns::<Filled>()].concat();
    let half = Filled {
        full: Percent(100),
        least: Some(Percent(50)),
    };
    let rows = [(named("a,b", 0), half), (named("c", 0), Filled::default())];
    let text = write(&names, &["name"], &rows, plain).unwrap();
    assert_eq!(text, "name,least\n\"a,b\",50%\nc,\n");
    assert_eq!(read(&text).unwrap(), rows);
    assert_eq!(write(&names, &["name"], &[], plain).unwrap(), "name\n");
    assert!(write(&["name"], &[], &rows, plain).is_err());
}
