// The models of Google's list, and what is known of them besides.
import type { Capability, Modality, Model, ModelPrice } from './provider.ts'
import { field } from './vendor-errors.ts'

const AS_OF = '2026-10-07'
/** Dollars for a million tokens in and out, as of that day, of text in prompts of usual length. A version that is not here has no price. */
const PRICES: readonly (readonly [string, number, number])[] = [
  // Half of it until the end of 2026.
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
/** Of a name: which issue of a version it is. */
const ISSUE = /(?:-preview)?(?:-(?:\d{3}|\d\d-\d\d(?:\d\d)?))?$/
/** These begin so, and cost otherwise, or make something else than text. */
const OTHERWISE = /-(?:image|tts|live|native-audio|audio|computer-use|customtools)(?:-|$)/

const HONOURED: readonly Capability[] = [
  'streaming',
  'tools',
  'parallel_tools',
  'structured_output',
  'json_mode',
  'seed',
]
/** What every Gemini reads. */
const READ: readonly Modality[] = ['text', 'image', 'audio', 'video', 'file']

/** An entry of the list as a model; null where it is none that is asked here. */
export function modelOf(provider: string, entry: unknown): Model | null {
  const [full, title, methods] = [
    field(entry, 'name'),
    field(entry, 'displayName'),
    field(entry, 'supportedGenerationMethods'),
  ]
  if (typeof full !== 'string' || !Array.isArray(methods)) return null
  const name = full.replace(/^models\//, '')
  const speaks = methods.includes('generateContent') && !OTHERWISE.test(name)
  const tasks = [...(speaks ? ['chat'] : []), ...(methods.includes('embedContent') ? ['embedding'] : [])]
  if (name === '' || tasks.length === 0) return null
  const isGemini = name.startsWith('gemini-') && speaks
  return {
    id: `${provider}/${name}`,
    name,
    title: typeof title === 'string' && title !== '' ? title : name,
    tasks,
    price: priceOf(name),
    max_output_tokens: speaks ? countOf(entry, 'outputTokenLimit') : null,
    context_length: countOf(entry, 'inputTokenLimit'),
    modalities: isGemini ? READ : ['text'],
    ...(speaks
      ? {
          capabilities: [
            ...(isGemini ? HONOURED : HONOURED.slice(0, 1)),
            ...(thinks(entry) ? (['reasoning'] as const) : []),
          ],
        }
      : {}),
  }
}

/** As far as its name tells. */
export function unlistedModel(provider: string, name: string): Model {
  const tasks = name.includes('embedding') ? ['embedding'] : ['chat']
  const known = { title: name, tasks, tasks_guessed: true, price: priceOf(name) }
  return { id: `${provider}/${name}`, name, ...known, max_output_tokens: null, modalities: READ }
}

/** Null where the list does not say. */
export function thinks(entry: unknown): boolean | null {
  const told = field(entry, 'thinking')
  return typeof told === 'boolean' ? told : null
}

function priceOf(name: string): ModelPrice | null {
  const known = PRICES.find(([one]) => one === name || one === name.replace(ISSUE, ''))
  if (!known || OTHERWISE.test(name)) return null
  const [, per_million_input_tokens, per_million_output_tokens] = known
  return { currency: 'USD', per_request: 0, per_million_input_tokens, per_million_output_tokens, as_of: AS_OF }
}

function countOf(entry: unknown, name: string): number | null {
  const count = field(entry, name)
  return Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : null
}
