// What is known of well-known hosted models, as data: how long their conversations may be, what they honour, what they cost. The prices are
// those that their makers published up to the date below, each found in a source of that date; what is not here is not known. A name that
// means another model every now and then has no price.
import type { Capability, Modality, ModelPrice } from './provider.ts'

/** Of when the figures are. */
const AS_OF = '2026-07-02'

export interface KnownModel {
  readonly context_length: number
  readonly max_output_tokens: number | null
  readonly modalities: readonly Modality[]
  readonly capabilities: readonly Capability[]
  /** In US dollars for a million tokens, in and out, where its maker hosts it. */
  readonly dollars: Dollars | null
}

type Dollars = readonly [input: number, output: number]

type Row = readonly [name: RegExp, context: number, output: number | null, kind: Kind, dollars: KnownModel['dollars']]

type Kind = 'text' | 'seeing' | 'reasoning' | 'blind_reasoning' | 'embedding'

const CHAT: readonly Capability[] = [
  'streaming',
  'tools',
  'parallel_tools',
  'structured_output',
  'json_mode',
  'seed',
  'logprobs',
]
const REASONING: readonly Capability[] = [
  'streaming',
  'tools',
  'parallel_tools',
  'structured_output',
  'json_mode',
  'seed',
  'reasoning',
]

const KINDS: Readonly<Record<Kind, Pick<KnownModel, 'modalities' | 'capabilities'>>> = {
  text: { modalities: ['text'], capabilities: CHAT },
  seeing: { modalities: ['text', 'image'], capabilities: CHAT },
  reasoning: { modalities: ['text', 'image', 'file'], capabilities: REASONING },
  blind_reasoning: { modalities: ['text'], capabilities: REASONING },
  embedding: { modalities: ['text'], capabilities: [] },
}

/** A model, or one of its dated versions. */
const dated = (name: string) => new RegExp(`^${name.replaceAll('.', '\\.')}(?:-\\d{4}-\\d{2}-\\d{2}|-latest)?$`)

/** By the host of the base URL. */
const HOSTS: Readonly<Record<string, readonly Row[]>> = {
  'api.openai.com': [
    [dated('gpt-5'), 400_000, 128_000, 'reasoning', [1.25, 10]],
    [dated('gpt-5-mini'), 400_000, 128_000, 'reasoning', [0.25, 2]],
    [dated('gpt-5-nano'), 400_000, 128_000, 'reasoning', [0.05, 0.4]],
    [dated('gpt-4.1'), 1_047_576, 32_768, 'seeing', [2, 8]],
    [dated('gpt-4.1-mini'), 1_047_576, 32_768, 'seeing', [0.4, 1.6]],
    [dated('gpt-4.1-nano'), 1_047_576, 32_768, 'seeing', [0.1, 0.4]],
    [dated('gpt-4o'), 128_000, 16_384, 'seeing', [2.5, 10]],
    [dated('gpt-4o-mini'), 128_000, 16_384, 'seeing', [0.15, 0.6]],
    [dated('o3'), 200_000, 100_000, 'reasoning', [2, 8]],
    [dated('o4-mini'), 200_000, 100_000, 'reasoning', [1.1, 4.4]],
    [dated('o3-mini'), 200_000, 100_000, 'blind_reasoning', [1.1, 4.4]],
    [dated('o1'), 200_000, 100_000, 'reasoning', [15, 60]],
    [dated('text-embedding-3-small'), 8_192, null, 'embedding', [0.02, 0]],
    [dated('text-embedding-3-large'), 8_192, null, 'embedding', [0.13, 0]],
    [dated('text-embedding-ada-002'), 8_192, null, 'embedding', [0.1, 0]],
  ],
  'api.groq.com': [
    [dated('llama-3.3-70b-versatile'), 131_072, 32_768, 'text', [0.59, 0.79]],
    [dated('llama-3.1-8b-instant'), 131_072, 131_072, 'text', [0.05, 0.08]],
  ],
  'api.mistral.ai': [
    [dated('mistral-embed'), 8_000, null, 'embedding', [0.1, 0]],
    [/^mistral-large-2411$/, 131_072, null, 'text', [2, 6]],
  ],
}

/** Null where nothing is known. A price is known only of what its maker hosts. */
export function knownModel(host: string, name: string): KnownModel | null {
  const own = Object.hasOwn(HOSTS, host) ? HOSTS[host]!.find(([names]) => names.test(name)) : undefined
  const row =
    own ??
    Object.values(HOSTS)
      .flat()
      .find(([names]) => names.test(name))
  if (!row) return null
  const [, context_length, max_output_tokens, kind, dollars] = row
  return { context_length, max_output_tokens, ...KINDS[kind], dollars: own ? dollars : null }
}

/** What its maker takes for it, as far as that is known. */
export function knownPrice({ dollars }: KnownModel): ModelPrice | null {
  return dollars && { ...priceOf(dollars), as_of: AS_OF }
}

export function priceOf([input, output]: Dollars): ModelPrice {
  return { currency: 'USD', per_request: 0, per_million_input_tokens: input, per_million_output_tokens: output }
}
