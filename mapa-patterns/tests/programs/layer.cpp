// One layer's part of a data-parallel step, as frameworks of convolutional networks write it.
template <typename Dtype>
void Gradients<Dtype>::run(int layer) {
  const vector<shared_ptr<Blob<Dtype>>>& blobs = layers_[layer]->blobs();
  size_t size = 0;
  for (int i = 0; i < blobs.size(); ++i) {
    size += blobs[i]->count();
  }
  if (size == 0) return;
  NCCL_CHECK(ncclAllReduce(blobs[0]->mutable_gpu_diff(), blobs[0]->mutable_gpu_diff(), size,
                           nccl::dataType<Dtype>::type, ncclSum, comm_, stream_));
  scale_on_device(size, (Dtype)1.0 / solver_count(), blobs[0]->mutable_gpu_diff(), stream_);
}
