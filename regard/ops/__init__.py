"""Operations on tensors that torch lacks or does slower: products, dropout, functions, lists of modules, memory;
and who computes fastest on this machine."""
