refused: duplicated at counted_twice.coll:7
  rank 0 out[0] must hold in[0] of every rank once and holds in[0] of rank 2 (twice)
  it goes wrong at rank 0 lane 2 step 0 (`rr`, counted_twice.coll:7), which adds in[0] of ranks 2 and 3 to in[0] of ranks 0 to 2
