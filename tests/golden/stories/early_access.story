refused: access after exit at fetch.coll:2
  rank 0 lane 0 step 0 (`get`, fetch.coll:2) touches in[0] of rank 1 before rank 1 has said that it entered the call
  its buffers need not be those of this call yet: the owner must signal that it is ready
