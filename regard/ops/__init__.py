"""Operations on tensors that torch lacks or does slower: products, dropout, functions, lists of modules, memory;
and the fastest backend of this machine."""
