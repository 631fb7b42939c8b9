"""Settings of other toolkits (Hugging Face, fairseq, OpenNMT, Joey NMT, PyTorch) and of former releases of Regard."""

from collections.abc import Container, Mapping
from types import MappingProxyType

_ENCODER, _DECODER = "model.encoder", "model.decoder"
_NAMES = {  # KEY=VALUE, or options, of Regard: names elsewhere
    "training.learning_rate=0.002": "lr learning_rate initial_learning_rate base_lr max_lr peak_lr",
    "training.batch_sentences=32": "batch_size bs train_batch_size per_device_train_batch_size batch batch_type",
    "training.batch_tokens=4096": "max_tokens batch_tokens tokens_per_batch",
    "training.max_epochs=10": "epochs epoch n_epochs num_epochs max_epoch max_epochs num_train_epochs",
    "training.max_updates=10000": "steps step max_steps max_step num_steps n_steps train_steps training_steps "
    "total_steps max_update max_updates updates iterations max_iterations",
    "training.max_minutes=10": "max_minutes max_time time_limit stop_time_hours",
    "training.schedule={name: inverse_sqrt, warmup: 4000}": "warmup warmup_steps warmup_updates num_warmup_steps "
    "warmup_ratio learning_rate_warmup",
    "training.schedule={name: cosine, updates: 10000}": "lr_scheduler lr_scheduler_type scheduler scheduling "
    "lr_schedule decay_method",
    "training.optimizer=adam": "optim optimizer",
    "training.optimizer.weight_decay=0.01": "weight_decay wd",
    "training.clip_norm=1.0": "max_grad_norm clip_norm clip_grad_norm grad_clip gradient_clip gradient_clip_val "
    "gradient_clipping max_norm",
    "training.accumulate=4": "gradient_accumulation_steps grad_accum accumulate_grad_batches update_freq accum_count "
    "batch_multiplier",
    "training.precision=bf16": "fp16 bf16 amp mixed_precision half dtype torch_dtype model_dtype",
    "training.patience=10": "patience early_stopping early_stopping_patience",
    "training.validate_every=500": "eval_steps eval_every eval_interval valid_steps validation_freq "
    "validate_interval_updates val_check_interval",
    "training.metric=bleu": "metric_for_best_model best_checkpoint_metric early_stopping_metric",
    "training.keep_best=5": "save_total_limit keep_best_ckpts keep_best_checkpoints",
    "training.gradient_checkpointing=true": "gradient_checkpointing checkpoint_activations",
    "training.compile=true": "torch_compile compile",
    "training.seed=1": "seed random_seed manual_seed",
    "training.workers=1": "num_workers dataloader_num_workers workers",
    "training.log_every=25": "log_every logging_steps logging_freq log_interval report_every",
    "objective.label_smoothing=0.1": "label_smoothing label_smoothing_factor smoothing",
    "model.dim=256": "d_model dim model_dim hidden_size hidden_dim embed_dim embedding_dim emb_dim emb_size "
    "embedding_size n_embd width word_vec_size encoder_embed_dim rnn_size",
    "model.attention.num_heads=8 model.self_attention.num_heads=8": "nhead nheads n_head n_heads num_heads heads "
    "num_attention_heads attention_heads encoder_attention_heads",
    f"{_ENCODER}.num_layers=6 {_DECODER}.num_layers=6": "num_layers n_layers n_layer nlayers layers num_hidden_layers",
    f"{_ENCODER}.num_layers=6": "num_encoder_layers encoder_layers enc_layers",
    f"{_DECODER}.num_layers=6": "num_decoder_layers decoder_layers dec_layers",
    f"{_ENCODER}.feedforward_dim=1024 {_DECODER}.feedforward_dim=1024": "dim_feedforward d_ff d_inner ff_size ffn_dim "
    "feedforward_dim intermediate_size transformer_ff encoder_ffn_dim "
    "encoder_ffn_embed_dim",
    "model.dropout=0.1": "dropout dropout_rate dropout_p p_dropout hidden_dropout_prob hidden_dropout",
    "model.tied=all": "share_all_embeddings tie_embeddings tied_embeddings tie_word_embeddings weight_tying "
    "share_decoder_input_output_embed share_decoder_embeddings tied_softmax",
    "text.tokenizer.size=8000": "vocab_size vocabulary_size bpe_size num_merges num_operations src_vocab_size",
    "text.shared=true": "joined_dictionary share_vocab shared_vocab share_embeddings joint_vocab",
    "data.max_length=100": "max_length max_len max_seq_length max_sent_length max_source_positions src_seq_length",
    "decoding.search.size=8": "beam beam_size beam_width num_beams beams",
    "decoding.search.n_best=5": "n_best nbest num_return_sequences",
    "decoding.search.length_penalty=1.0": "length_penalty lenpen beam_alpha alpha",
    "decoding.search={name: sampling, temperature: 0.8}": "temperature top_k top_p do_sample sampling",
    "decoding.precision=int8": "quantize quantization int8 load_in_8bit compute_type",
    "device=cuda": "device gpu cuda use_cuda use_gpu gpus world_size no_cuda",
    "run=runs/name": "output_dir save_dir model_dir checkpoint_dir out_dir save_model output_path logging_dir",
    "--source FILE": "src source source_file train_src source_lang",
    "--target FILE": "tgt trg target target_file train_tgt target_lang",
    "--dev-source FILE": "valid_src dev_src val_src validation_file dev_file",
    "--dev-target FILE": "valid_tgt dev_tgt val_tgt",
    "--input FILE": "input_file src_file infile",
    "--output FILE": "output_file out outfile predictions_file",
    "--from RUN": "pretrained from_pretrained finetune fine_tune load_model train_from "
    "finetune_from_model restore_file init_checkpoint",
    "--resume": "resume resume_from_checkpoint continue",
    "RUN, the first argument": "model model_path model_name_or_path checkpoint ckpt path",
}
SYNONYMS = MappingProxyType({name: ours for ours, names in _NAMES.items() for name in names.split()})


def equivalent(name: str) -> str:
    """Return what Regard has for a setting of another toolkit, as KEY=VALUE or as options; "" for an unknown name."""
    return SYNONYMS.get(name.lstrip("-").replace("-", "_").lower(), "")


def hint_at(name: str) -> str:
    """Return a hint that names the setting of Regard; "" for an unknown name."""
    return f"in Regard this is {ours}" if (ours := equivalent(name)) else ""


_RENAMED = {  # old and new name of a setting: parts and groups that have it; read for one release
    "begins prepend_bos": "classification",
    "below threshold": "attention",
    "certain min_confidence": "lexicon",
    "copy_past init_from_encoder": "recurrent",
    "decides inference": "hard",
    "dev_share dev_fraction": "DataSettings",
    "invariance invariance_weight": "adversarial_stability",
    "least min_attention": "coverage",
    "least min_count": "lexicon",
    "least min_probability": "lexicon missing_words ngram_model phrases word_pairs",
    "longest max_ngram": "cbow skip_gram",
    "maps num_filters": "convolutional convolutional_query",
    "nearest num_nearest": "adversarial_stability",
    "noisy noisy_weight": "adversarial_stability",
    "null_share null_probability": "diagonal hmm",
    "reads source_context": "recurrent",
    "share fraction": "RecombinationSettings",
    "share mask_probability": "masked_language_model next_sentence",
    "share prior": "unrelated",
    "share probability": "case drop keyboard swap synonym typo",
    "share replace_probability": "adversarial_stability",
    "share softmax_weight": "linear_start",
    "shortest min_length": "adding copying counting",
    "shortest min_ngram": "cbow skip_gram",
    "soft_share soft_probability": "hard",
    "tape memory_size": "lstmn",
    "test_share test_fraction": "DataSettings",
    "widest max_jump": "hmm",
    "windows kernel_sizes": "convolutional convolutional_query",
}
RENAMED_SETTINGS = tuple(
    (old, new, tuple(parts.split())) for names, parts in _RENAMED.items() for old, new in [names.split()]
)


def renamed_settings(part: str, settings: Container[str]) -> Mapping[str, str]:
    """Return the old names of settings that a part or a group has, with the new ones."""
    return {
        old: new for old, new, parts in RENAMED_SETTINGS if part in parts and new in settings and old not in settings
    }


def renamed_number(owner: object, name: str) -> str:
    """Return the present name of an attribute that a schedule may name by its old one."""
    found = (new for old, new, _ in RENAMED_SETTINGS if old == name and hasattr(owner, new))
    return name if hasattr(owner, name) else next(found, name)
