// What a model of Anthropic's can do, as far as its list of models says, or its name tells where that is silent.
import type { Capability, Model, ModelPrice } from './provider.ts'

/** Where thinking is asked for by a budget of tokens, by effort alone, or not at all. */
export type Thinking = 'budget' | 'adaptive' | 'none'

export interface ClaudeTraits {
  /** The most tokens of an answer; null where nobody knows. */
  readonly most: number | null
  readonly thinking: Thinking
  /** Levels of effort that it takes; null where nobody knows, and none where it takes none. */
  readonly efforts: readonly string[] | null
  /** Whether an answer can be held to a JSON schema. */
  readonly structured: boolean
}

const AS_OF = '2026-11-10'
/** Dollars for a million tokens in and out, as of that day, of prompts of usual length. A version that is not here has no price. */
const PRICES: ReadonlyMap<string, readonly [input: number, output: number]> = new Map([
  ['claude-fable-5-2', [8, 40]],
  ['claude-fable-5-1', [10, 50]],
  ['claude-fable-5', [10, 50]],
  ['claude-mythos-5-1', [10, 50]],
  ['claude-mythos-5', [10, 50]],
  ['claude-opus-5-5', [4, 20]],
  ['claude-opus-5', [5, 25]],
  ['claude-opus-4-8', [5, 25]],
  ['claude-opus-4-7', [5, 25]],
  ['claude-opus-4-6', [5, 25]],
  ['claude-opus-4-5', [5, 25]],
  ['claude-opus-4-1', [15, 75]],
  ['claude-opus-4-0', [15, 75]],
  ['claude-opus-4', [15, 75]],
  ['claude-sonnet-5-5', [2, 10]],
  ['claude-sonnet-5', [2, 10]],
  ['claude-sonnet-4-6', [3, 15]],
  ['claude-sonnet-4-5', [3, 15]],
  ['claude-sonnet-4-0', [3, 15]],
  ['claude-sonnet-4', [3, 15]],
  ['claude-haiku-5-5', [0.1, 0.5]],
  ['claude-haiku-4-5', [1, 5]],
])
/** Of a name: the day of a version. */
const DAY = /-(?:\d{8}|latest)$/

/** In every one of them. */
const ALWAYS: readonly Capability[] = ['streaming', 'tools', 'parallel_tools']

interface Listed {
  readonly id?: unknown
  readonly display_name?: unknown
  readonly created_at?: unknown
  readonly max_tokens?: unknown
  readonly max_input_tokens?: unknown
  readonly capabilities?: unknown
}

/** What is known of a model without its entry in the list. */
export function traitsOfName(name: string): ClaudeTraits {
  const version = versionOf(name)
  return {
    most: null,
    thinking: version < 3.7 ? 'none' : version < 4.6 ? 'budget' : 'adaptive',
    efforts: version < 4.5 || name.startsWith('claude-haiku-4-5') || name.startsWith('claude-sonnet-4-5') ? [] : null,
    structured: version >= 4.1,
  }
}

/** Names tell versions as `claude-opus-4-6` or `claude-3-7-sonnet-20250219`; whatever tells none is newer than all that are known. */
function versionOf(name: string): number {
  const found = /^claude-(?:[a-z]+-)?(\d{1,2})(?:-(\d{1,2}))?(?:-|$)/.exec(name)
  return found ? Number(`${found[1]}.${found[2] ?? 0}`) : Number.POSITIVE_INFINITY
}

export function traitsOf(name: string, { max_tokens, capabilities }: Listed): ClaudeTraits {
  const guessed = traitsOfName(name)
  const thinking = at(capabilities, 'thinking')
  const effort = at(capabilities, 'effort')
  return {
    most: isCount(max_tokens) ? max_tokens : guessed.most,
    thinking: thinking === null ? guessed.thinking : thinkingOf(thinking),
    efforts: effort === null ? guessed.efforts : effortsOf(effort),
    structured: supports(at(capabilities, 'structured_outputs')) ?? guessed.structured,
  }
}

function thinkingOf(told: object): Thinking {
  const types = at(told, 'types')
  if (supports(told) === false) return 'none'
  if (supports(at(types, 'adaptive'))) return 'adaptive'
  return supports(at(types, 'enabled')) ? 'budget' : 'none'
}

function effortsOf(told: object): string[] {
  if (!supports(told)) return []
  return Object.keys(told).filter((level) => level !== 'supported' && supports(at(told, level)))
}

/** An entry of the list as a model; null where it is none. */
export function modelOf(provider: string, entry: unknown): Model | null {
  const listed = (typeof entry === 'object' && entry !== null ? entry : {}) as Listed
  const { id, display_name, max_input_tokens, created_at, capabilities } = listed
  if (typeof id !== 'string' || id === '') return null
  const { most, thinking, structured } = traitsOf(id, listed)
  const created = typeof created_at === 'string' ? Math.floor(Date.parse(created_at) / 1_000) : 0
  return {
    id: `${provider}/${id}`,
    name: id,
    title: typeof display_name === 'string' && display_name !== '' ? display_name : id,
    tasks: ['chat'],
    price: priceOf(id),
    max_output_tokens: most,
    context_length: isCount(max_input_tokens) ? max_input_tokens : null,
    modalities: [
      'text',
      ...(supports(at(capabilities, 'image_input')) === false ? [] : (['image'] as const)),
      ...(supports(at(capabilities, 'pdf_input')) === false ? [] : (['file'] as const)),
    ],
    capabilities: [
      ...ALWAYS,
      ...(structured ? (['structured_output'] as const) : []),
      ...(thinking === 'none' ? [] : (['reasoning'] as const)),
    ],
    ...(created > 0 ? { created } : {}),
  }
}

function priceOf(name: string): ModelPrice | null {
  const known = PRICES.get(name.replace(DAY, ''))
  if (!known) return null
  const [per_million_input_tokens, per_million_output_tokens] = known
  return { currency: 'USD', per_request: 0, per_million_input_tokens, per_million_output_tokens, as_of: AS_OF }
}

function supports(told: object | null): boolean | null {
  return told && 'supported' in told && typeof told.supported === 'boolean' ? told.supported : null
}

function at(value: unknown, key: string): object | null {
  if (typeof value !== 'object' || value === null) return null
  const found: unknown = (value as Record<string, unknown>)[key]
  return typeof found === 'object' ? found : null
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}
