//! Programs that the pass refuses: a call that would have to be lazy, and that no wrapper stands for.

use crate::program::cc;
use std::fs;

#[test]
fn calls_that_cannot_be_lazy_are_refused_by_name() {
    let work = tempfile::tempdir().unwrap();
    let source = work.path().join("refused.cu");
    for (call, name) in [
        (
            "cudaMallocFromPoolAsync(&table[0], 256, pool, 0);",
            "cudaMallocFromPoolAsync",
        ),
        (
            "cudaLaunchCooperativeKernel((const void *)k, 1, 32, table[1]);",
            "cudaLaunchCooperativeKernel",
        ),
    ] {
        let text = format!(
            "__global__ void k(float *p) {{}}\nextern \"C\" void work(void ***table, cudaMemPool_t pool) {{ {call} }}\n"
        );
        fs::write(&source, text).unwrap();
        let arguments = ["-c", source.to_str().unwrap(), "-o", "/dev/null"];
        let (done, errors) = cc(&arguments);
        let told = format!(
            "{}: work: {name} cannot be lazy: expected it in a static task",
            source.display()
        );
        assert!(!done && errors.contains(&told), "{errors}");
    }
}
