//! What the commands answer is valid by its schema.

use crate::common::Folder;
use crate::schema::assert_valid;

#[test]
fn answers_are_valid_by_their_schemas() {
    let folder = Folder::new();
    folder.write(
        "shared.csv",
        "job,profile,slice\na,ResNet50,1g.1m\nb,Bloom560m,1g.1m\n",
    );
    for (words, name) in [
        (
            "contention --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs shared.csv",
            "contention",
        ),
        (
            "workers copy --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --sizes 1g.1m --gigabytes 0.1",
            "workers-copy",
        ),
    ] {
        assert_valid(name, &folder.answer(words));
    }
}
