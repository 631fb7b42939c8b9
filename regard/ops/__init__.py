"""Operations on tensors that torch lacks or does slower: products, dropout, typed lists of modules, memory."""
