"""Starts a pretraining run. Use --tensor-model-parallel-size 8 for the large model."""
import subprocess

GPUS = 8
TP = 2


def main():
    words = ["torchrun", "--nproc_per_node", str(GPUS), "pretrain_gpt.py"]
    words += [
        "--tensor-model-parallel-size", str(TP),
        "--pipeline-model-parallel-size", "2",
        "--num-layers", "24",
        "--micro-batch-size", "4",
    ]
    subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
