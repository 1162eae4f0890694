refused: wrong at wrong_block.coll:4
  rank 0 out[0] must hold in[0] of rank 0 and holds in[1] of rank 0 instead
  it was last written by rank 0 lane 0 step 0 (`copy`, wrong_block.coll:4)
