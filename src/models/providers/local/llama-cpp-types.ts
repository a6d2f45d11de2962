// Types for the used part of node-llama-cpp. The package is optional, so its own types are not available.

export interface LlamaPackage {
  getLlama(options: {
    gpu: 'auto' | false
    build: 'never'
    progressLogs: false
    logLevel: 'error'
    logger: (level: string, text: string) => void
  }): Promise<Llama>
  readonly LlamaChat: new (options: { contextSequence: LlamaSequence }) => LlamaChat
  readonly InsufficientMemoryError: new () => Error
}

export interface Llama {
  /** Cores that suit this work. */
  readonly cpuMathCores: number
  loadModel(options: { modelPath: string }): Promise<LlamaModel>
  createGrammarForJsonSchema(schema: object): Promise<LlamaGrammar>
}

export type LlamaGrammar = object

export interface LlamaModel {
  readonly trainContextSize: number
  readonly tokenizer: unknown
  tokenize(text: string): readonly unknown[]
  createContext(options: LlamaContextOptions & { sequences: 1 }): Promise<LlamaContext>
  createEmbeddingContext(options: LlamaContextOptions): Promise<LlamaEmbeddingContext>
}

export interface LlamaContextOptions {
  readonly contextSize: { readonly min: number; readonly max: number }
  readonly threads: number
}

export interface LlamaEmbeddingContext {
  getEmbeddingFor(text: string): Promise<{ readonly vector: readonly number[] }>
}

export interface LlamaContext {
  readonly contextSize: number
  getSequence(): LlamaSequence
}

export interface LlamaSequence {
  /** Counts all tokens that the model processed, shown or not. */
  readonly tokenMeter: { readonly usedOutputTokens: number }
  clearHistory(): Promise<void>
}

export type LlamaTurn =
  | { readonly type: 'system' | 'user'; readonly text: string }
  | { readonly type: 'model'; readonly response: readonly string[] }

export interface LlamaChunk {
  readonly type?: 'segment' | undefined
  readonly text: string
  readonly tokens: readonly unknown[]
}

export interface LlamaAnswer {
  readonly metadata: { readonly stopReason: string }
}

export interface LlamaChat {
  readonly chatWrapper: {
    generateContextState(state: { chatHistory: readonly LlamaTurn[] }): {
      readonly contextText: { tokenize(tokenizer: unknown): readonly unknown[] }
    }
  }
  generateResponse(
    history: readonly LlamaTurn[],
    options: {
      maxTokens: number
      temperature: number
      topP: number
      topK: number
      seed?: number
      grammar?: LlamaGrammar
      customStopTriggers?: readonly string[]
      repeatPenalty: false | { penalty: number; frequencyPenalty: number; presencePenalty: number }
      contextShift: { size: number }
      signal: AbortSignal
      stopOnAbortSignal: true
      onResponseChunk(chunk: LlamaChunk): void
    },
  ): Promise<LlamaAnswer>
}
