"""Small sentence-transformers folders with random weights, for tests."""

from pathlib import Path

SENTENCE = "how do i cook rice in a pot without burning it my bike was stolen at night and the police asks why"
WORDS = SENTENCE.split()
BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
SIZES = {"vocab_size": 40, "max_position_embeddings": 34}
ARCHITECTURES = {
    "bert": BERT | SIZES,
    "roberta": BERT | SIZES | {"pad_token_id": 1, "type_vocab_size": 1},
    "xlm-roberta": BERT | SIZES | {"pad_token_id": 1, "type_vocab_size": 1, "hidden_act": "gelu_new"},
    "mpnet": BERT | SIZES | {"pad_token_id": 1, "hidden_act": "relu"},
    "distilbert": SIZES | {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
}


def make_model_folder(
    path: Path, name: str, pooling: str = "mean", dense: bool = False, normalise: bool = True
) -> Path:
    """Save a small model with random weights as sentence-transformers does."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    torch.manual_seed(7)
    special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
    ids = {word: number for number, word in enumerate([*special, *dict.fromkeys(WORDS)])}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=32,
    )  # fmt: skip
    config = transformers.AutoConfig.for_model(name, **ARCHITECTURES[name])
    model = transformers.AutoModel.from_config(config)
    for parameter in model.parameters():  # those of a new model are too small to tell right from wrong
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path / "start")
    fast.save_pretrained(path / "start")
    steps = [models.Transformer(str(path / "start")), models.Pooling(32, pooling)]
    steps += [models.Dense(32, 16)] if dense else []
    steps += [models.Normalize()] if normalise else []
    SentenceTransformer(modules=steps, device="cpu").save(str(path / "model"), create_model_card=False)
    return path / "model"
