//! Why prompts cannot be made as requested.

use std::path::PathBuf;

/// Why prompts cannot be made as requested.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A folder without a tokenizer.
    #[error("the folder `{folder}` holds no tokenizer.json; name the folder of a model, or the file itself")]
    NoTokenizerInFolder {
        /// The folder.
        folder: String,
    },
    /// Neither a file nor an id.
    #[error(
        "no tokenizer at `{given}`: there is no such file or folder, and it is not a Hugging Face id such as \
         meta-llama/Llama-3.1-8B-Instruct"
    )]
    NoSuchTokenizer {
        /// What was given.
        given: String,
    },
    /// A file that is no tokenizer.
    #[error("`{}` cannot be read as a tokenizer: {cause}; give the tokenizer.json of the served model", file.display())]
    BadTokenizer {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The hub did not provide it.
    #[error(
        "the tokenizer of `{id}` is neither a local path nor in the Hugging Face cache, and could not be fetched: \
         {cause}; give a local tokenizer.json, set HF_TOKEN if the model is gated, or leave the tokenizer out: \
         prompts are then counted by the server's /tokenize, else estimated, and 0 to 5 % longer than asked"
    )]
    HubUnavailable {
        /// The id.
        id: String,
        /// What the hub's client says.
        cause: String,
    },
    /// The counts do not fit the texts.
    #[error("the server's token counts cannot be used: {cause}; prompts can be made by estimate instead")]
    UnusableCounts {
        /// What is wrong with them.
        cause: String,
    },
}
