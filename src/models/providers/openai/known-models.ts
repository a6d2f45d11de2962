// Data of well-known hosted models: context length, features and prices. The prices are the makers' published prices up to the date below, each
// from a source of that date. A name whose model changes from time to time has no price.
import type { Capability, Modality, ModelPrice } from '../../provider.ts'

/** The date of the figures. */
const AS_OF = '2026-07-02'

export interface KnownModel {
  readonly context_length: number
  readonly max_output_tokens: number | null
  readonly modalities: readonly Modality[]
  readonly capabilities: readonly Capability[]
  /** US dollars for a million tokens, input and output, at the maker's own host. */
  readonly dollars: TokenPrices | null
}

type TokenPrices = readonly [input: number, output: number]

type KnownModelRow = readonly [
  name: RegExp,
  context: number,
  output: number | null,
  kind: KnownModelKind,
  dollars: KnownModel['dollars'],
]

type KnownModelKind = 'text' | 'seeing' | 'reasoning' | 'blind_reasoning' | 'embedding'

const CHAT_CAPABILITIES: readonly Capability[] = [
  'streaming',
  'tools',
  'parallel_tools',
  'structured_output',
  'json_mode',
  'seed',
  'logprobs',
]
const REASONING_CAPABILITIES: readonly Capability[] = [
  'streaming',
  'tools',
  'parallel_tools',
  'structured_output',
  'json_mode',
  'seed',
  'reasoning',
]

const FEATURES_BY_KIND: Readonly<Record<KnownModelKind, Pick<KnownModel, 'modalities' | 'capabilities'>>> = {
  text: { modalities: ['text'], capabilities: CHAT_CAPABILITIES },
  seeing: { modalities: ['text', 'image'], capabilities: CHAT_CAPABILITIES },
  reasoning: { modalities: ['text', 'image', 'file'], capabilities: REASONING_CAPABILITIES },
  blind_reasoning: { modalities: ['text'], capabilities: REASONING_CAPABILITIES },
  embedding: { modalities: ['text'], capabilities: [] },
}

/** Matches a model and its dated versions. */
const createNamePattern = (name: string) =>
  new RegExp(`^${name.replaceAll('.', '\\.')}(?:-\\d{4}-\\d{2}-\\d{2}|-latest)?$`)

/** By the host of the base URL. */
const MODELS_BY_HOST: Readonly<Record<string, readonly KnownModelRow[]>> = {
  'api.openai.com': [
    [createNamePattern('gpt-5'), 400_000, 128_000, 'reasoning', [1.25, 10]],
    [createNamePattern('gpt-5-mini'), 400_000, 128_000, 'reasoning', [0.25, 2]],
    [createNamePattern('gpt-5-nano'), 400_000, 128_000, 'reasoning', [0.05, 0.4]],
    [createNamePattern('gpt-4.1'), 1_047_576, 32_768, 'seeing', [2, 8]],
    [createNamePattern('gpt-4.1-mini'), 1_047_576, 32_768, 'seeing', [0.4, 1.6]],
    [createNamePattern('gpt-4.1-nano'), 1_047_576, 32_768, 'seeing', [0.1, 0.4]],
    [createNamePattern('gpt-4o'), 128_000, 16_384, 'seeing', [2.5, 10]],
    [createNamePattern('gpt-4o-mini'), 128_000, 16_384, 'seeing', [0.15, 0.6]],
    [createNamePattern('o3'), 200_000, 100_000, 'reasoning', [2, 8]],
    [createNamePattern('o4-mini'), 200_000, 100_000, 'reasoning', [1.1, 4.4]],
    [createNamePattern('o3-mini'), 200_000, 100_000, 'blind_reasoning', [1.1, 4.4]],
    [createNamePattern('o1'), 200_000, 100_000, 'reasoning', [15, 60]],
    [createNamePattern('text-embedding-3-small'), 8_192, null, 'embedding', [0.02, 0]],
    [createNamePattern('text-embedding-3-large'), 8_192, null, 'embedding', [0.13, 0]],
    [createNamePattern('text-embedding-ada-002'), 8_192, null, 'embedding', [0.1, 0]],
  ],
  'api.groq.com': [
    [createNamePattern('llama-3.3-70b-versatile'), 131_072, 32_768, 'text', [0.59, 0.79]],
    [createNamePattern('llama-3.1-8b-instant'), 131_072, 131_072, 'text', [0.05, 0.08]],
  ],
  'api.mistral.ai': [
    [createNamePattern('mistral-embed'), 8_000, null, 'embedding', [0.1, 0]],
    [/^mistral-large-2411$/, 131_072, null, 'text', [2, 6]],
  ],
}

/** Null for an unknown model. A price is known only at the maker's own host. */
export function findKnownModel(host: string, name: string): KnownModel | null {
  const own = Object.hasOwn(MODELS_BY_HOST, host)
    ? MODELS_BY_HOST[host]!.find(([names]) => names.test(name))
    : undefined
  const row =
    own ??
    Object.values(MODELS_BY_HOST)
      .flat()
      .find(([names]) => names.test(name))
  if (!row) return null
  const [, context_length, max_output_tokens, kind, dollars] = row
  return { context_length, max_output_tokens, ...FEATURES_BY_KIND[kind], dollars: own ? dollars : null }
}

/** The maker's price; null where that is unknown. */
export function knownModelPrice({ dollars }: KnownModel): ModelPrice | null {
  return dollars && { ...createTokenPrice(dollars), as_of: AS_OF }
}

export function createTokenPrice([input, output]: TokenPrices): ModelPrice {
  return { currency: 'USD', per_request: 0, per_million_input_tokens: input, per_million_output_tokens: output }
}
