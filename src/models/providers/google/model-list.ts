// Converts entries of Google's model list to models, and adds prices and features.
import type { Capability, Modality, Model, ModelPrice } from '../../provider.ts'
import { readField } from '../shared/vendor-errors.ts'

const PRICES_AS_OF = '2026-10-07'
/** US dollars for a million tokens, input and output, on that day, for text in prompts of usual length. An unlisted version has no price. */
const PRICES: readonly (readonly [string, number, number])[] = [
  // Half of this price until the end of 2026.
  ['gemini-3.8-flash', 1.5, 7.5],
  ['gemini-3.5-flash-lite', 0.3, 2.5],
  ['gemini-3.1-flash-lite', 0.25, 1.5],
  ['gemini-3.1-pro', 2, 12],
  ['gemini-3-pro', 2, 12],
  ['gemini-3-flash', 0.5, 3],
  ['gemini-2.5-pro', 1.25, 10],
  ['gemini-2.5-flash-lite', 0.1, 0.4],
  ['gemini-2.5-flash', 0.3, 2.5],
  ['gemini-2.0-flash-lite', 0.075, 0.3],
  ['gemini-2.0-flash', 0.1, 0.4],
  ['gemini-embedding-001', 0.15, 0],
]
/** The end of a name, which tells the release of a version. */
const VERSION_SUFFIX = /(?:-preview)?(?:-(?:\d{3}|\d\d-\d\d(?:\d\d)?))?$/
/** Variants with another price, or with another output than text. */
const SPECIAL_VARIANT = /-(?:image|tts|live|native-audio|audio|computer-use|customtools)(?:-|$)/

const GEMINI_CAPABILITIES: readonly Capability[] = [
  'streaming',
  'tools',
  'parallel_tools',
  'structured_output',
  'json_mode',
  'seed',
]
/** The inputs of every Gemini model. */
const GEMINI_MODALITIES: readonly Modality[] = ['text', 'image', 'audio', 'video', 'file']

/** Null where the entry is no model for chat or embeddings. */
export function createGeminiModel(provider: string, entry: unknown): Model | null {
  const [full, title, methods] = [
    readField(entry, 'name'),
    readField(entry, 'displayName'),
    readField(entry, 'supportedGenerationMethods'),
  ]
  if (typeof full !== 'string' || !Array.isArray(methods)) return null
  const name = full.replace(/^models\//, '')
  const isChatModel = methods.includes('generateContent') && !SPECIAL_VARIANT.test(name)
  const tasks = [...(isChatModel ? ['chat'] : []), ...(methods.includes('embedContent') ? ['embedding'] : [])]
  if (name === '' || tasks.length === 0) return null
  const isGemini = name.startsWith('gemini-') && isChatModel
  return {
    id: `${provider}/${name}`,
    name,
    title: typeof title === 'string' && title !== '' ? title : name,
    tasks,
    price: findPrice(name),
    max_output_tokens: isChatModel ? readCount(entry, 'outputTokenLimit') : null,
    context_length: readCount(entry, 'inputTokenLimit'),
    modalities: isGemini ? GEMINI_MODALITIES : ['text'],
    ...(isChatModel
      ? {
          capabilities: [
            ...(isGemini ? GEMINI_CAPABILITIES : GEMINI_CAPABILITIES.slice(0, 1)),
            ...(readThinkingSupport(entry) ? (['reasoning'] as const) : []),
          ],
        }
      : {}),
  }
}

/** Describes an unlisted model by its name. */
export function createUnlistedGeminiModel(provider: string, name: string): Model {
  const tasks = name.includes('embedding') ? ['embedding'] : ['chat']
  const known = { title: name, tasks, tasks_guessed: true, price: findPrice(name) }
  return { id: `${provider}/${name}`, name, ...known, max_output_tokens: null, modalities: GEMINI_MODALITIES }
}

/** Whether the model thinks; null where the list does not say. */
export function readThinkingSupport(entry: unknown): boolean | null {
  const thinking = readField(entry, 'thinking')
  return typeof thinking === 'boolean' ? thinking : null
}

function findPrice(name: string): ModelPrice | null {
  const known = PRICES.find(([one]) => one === name || one === name.replace(VERSION_SUFFIX, ''))
  if (!known || SPECIAL_VARIANT.test(name)) return null
  const [, per_million_input_tokens, per_million_output_tokens] = known
  return { currency: 'USD', per_request: 0, per_million_input_tokens, per_million_output_tokens, as_of: PRICES_AS_OF }
}

function readCount(entry: unknown, name: string): number | null {
  const count = readField(entry, name)
  return Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : null
}
