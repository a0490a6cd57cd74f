#!/bin/bash
# In the style of Megatron-LM's examples.
export CUDA_DEVICE_MAX_CONNECTIONS=1

GPUS_PER_NODE=8
NUM_NODES=${NNODES:-1}
MASTER_ADDR=localhost
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINT_PATH=$1 #<Specify path>

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr $MASTER_ADDR
)

MODEL_PARALLEL_ARGS=(
    --tensor-model-parallel-size 4  # within a node
    --pipeline-model-parallel-size 2
)

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    --num-layers 96 \
    ${MODEL_PARALLEL_ARGS[@]} \
    --save "$CHECKPOINT_PATH"
