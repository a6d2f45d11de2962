// The features of Anthropic's models, from the model list, or from the name where the list does not tell.
import type { Capability, Model, ModelPrice } from '../../provider.ts'

/** Thinking is requested by a budget of tokens, by effort alone, or not at all. */
export type ThinkingMode = 'budget' | 'adaptive' | 'none'

export interface ClaudeTraits {
  /** The most tokens of an answer; null: unknown. */
  readonly max_output_tokens: number | null
  readonly thinking: ThinkingMode
  /** The levels of effort that the model takes; empty where the model takes none, null: unknown. */
  readonly efforts: readonly string[] | null
  /** Whether an answer can be forced to match a JSON schema. */
  readonly structured_output: boolean
}

const PRICES_AS_OF = '2026-11-10'
/** US dollars for a million tokens, input and output, on that day, for prompts of usual length. An unlisted version has no price. */
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
/** The end of a name, which tells the day of a version. */
const VERSION_SUFFIX = /-(?:\d{8}|latest)$/

/** The capabilities of every Claude model. */
const COMMON_CAPABILITIES: readonly Capability[] = ['streaming', 'tools', 'parallel_tools']

interface ListedClaudeModel {
  readonly id?: unknown
  readonly display_name?: unknown
  readonly created_at?: unknown
  readonly max_tokens?: unknown
  readonly max_input_tokens?: unknown
  readonly capabilities?: unknown
}

/** Guesses the features of an unlisted model by its name. */
export function guessClaudeTraits(name: string): ClaudeTraits {
  const version = parseVersion(name)
  return {
    max_output_tokens: null,
    thinking: version < 3.7 ? 'none' : version < 4.6 ? 'budget' : 'adaptive',
    efforts: version < 4.5 || name.startsWith('claude-haiku-4-5') || name.startsWith('claude-sonnet-4-5') ? [] : null,
    structured_output: version >= 4.1,
  }
}

/** Names contain the version as `claude-opus-4-6` or `claude-3-7-sonnet-20250219`. A name without a version counts as newer than all known versions. */
function parseVersion(name: string): number {
  const found = /^claude-(?:[a-z]+-)?(\d{1,2})(?:-(\d{1,2}))?(?:-|$)/.exec(name)
  return found ? Number(`${found[1]}.${found[2] ?? 0}`) : Number.POSITIVE_INFINITY
}

export function readClaudeTraits(name: string, { max_tokens, capabilities }: ListedClaudeModel): ClaudeTraits {
  const guessed = guessClaudeTraits(name)
  const thinking = readObject(capabilities, 'thinking')
  const effort = readObject(capabilities, 'effort')
  return {
    max_output_tokens: isPositiveCount(max_tokens) ? max_tokens : guessed.max_output_tokens,
    thinking: thinking === null ? guessed.thinking : readThinkingMode(thinking),
    efforts: effort === null ? guessed.efforts : readEfforts(effort),
    structured_output: readSupport(readObject(capabilities, 'structured_outputs')) ?? guessed.structured_output,
  }
}

function readThinkingMode(thinking: object): ThinkingMode {
  const types = readObject(thinking, 'types')
  if (readSupport(thinking) === false) return 'none'
  if (readSupport(readObject(types, 'adaptive'))) return 'adaptive'
  return readSupport(readObject(types, 'enabled')) ? 'budget' : 'none'
}

function readEfforts(effort: object): string[] {
  if (!readSupport(effort)) return []
  return Object.keys(effort).filter((level) => level !== 'supported' && readSupport(readObject(effort, level)))
}

/** Null where the entry has no id. */
export function createClaudeModel(provider: string, entry: unknown): Model | null {
  const listed = (typeof entry === 'object' && entry !== null ? entry : {}) as ListedClaudeModel
  const { id, display_name, max_input_tokens, created_at, capabilities } = listed
  if (typeof id !== 'string' || id === '') return null
  const { max_output_tokens, thinking, structured_output } = readClaudeTraits(id, listed)
  const created = typeof created_at === 'string' ? Math.floor(Date.parse(created_at) / 1_000) : 0
  return {
    id: `${provider}/${id}`,
    name: id,
    title: typeof display_name === 'string' && display_name !== '' ? display_name : id,
    tasks: ['chat'],
    price: findPrice(id),
    max_output_tokens,
    context_length: isPositiveCount(max_input_tokens) ? max_input_tokens : null,
    modalities: [
      'text',
      ...(readSupport(readObject(capabilities, 'image_input')) === false ? [] : (['image'] as const)),
      ...(readSupport(readObject(capabilities, 'pdf_input')) === false ? [] : (['file'] as const)),
    ],
    capabilities: [
      ...COMMON_CAPABILITIES,
      ...(structured_output ? (['structured_output'] as const) : []),
      ...(thinking === 'none' ? [] : (['reasoning'] as const)),
    ],
    ...(created > 0 ? { created } : {}),
  }
}

function findPrice(name: string): ModelPrice | null {
  const known = PRICES.get(name.replace(VERSION_SUFFIX, ''))
  if (!known) return null
  const [per_million_input_tokens, per_million_output_tokens] = known
  return { currency: 'USD', per_request: 0, per_million_input_tokens, per_million_output_tokens, as_of: PRICES_AS_OF }
}

function readSupport(feature: object | null): boolean | null {
  return feature && 'supported' in feature && typeof feature.supported === 'boolean' ? feature.supported : null
}

function readObject(value: unknown, key: string): object | null {
  if (typeof value !== 'object' || value === null) return null
  const found: unknown = (value as Record<string, unknown>)[key]
  return typeof found === 'object' ? found : null
}

function isPositiveCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}
