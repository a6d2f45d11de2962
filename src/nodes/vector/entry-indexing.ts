// vector.Index: builds entries from parallel lists, with given vectors or with vectors that a model makes of the texts.

import type { InputValues, OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { VectorEntry } from '../../engine/node-api/services/vectors.ts'
import { embedTexts } from '../chat/embed-node.ts'
import { cryptoLibrary } from '../shared/lazy-libraries.ts'
import { toCanonicalText } from '../shared/value-operations.ts'

/** In entries of one firing. */
const MOST_ENTRIES = 10_000
/** Limits of a batch in entries, and roughly in characters of texts and numbers of vectors. Other work has its turn between batches. */
const ENTRIES_AT_ONCE = 200
const CHARACTERS_AT_ONCE = 1_000_000
const NUMBERS_AT_ONCE = 250_000

export interface IndexInputs extends InputValues {
  index: string
  texts: readonly string[]
  vectors: readonly (readonly number[])[]
  ids: string[]
  metadata: Record<string, unknown>[]
  model: string
  dimensions: number | null
}

/** The problem with the lists of entries, or null. Lists that come along edges are unknown before the run. */
function findListsProblem({ texts, vectors, ids, metadata, model }: InputValues): NodeProblem | null {
  const lists = { texts, vectors, ids, metadata } as Readonly<Record<string, unknown[]>>
  const count = Math.max(...Object.values(lists).map((list) => list.length))
  const odd = Object.keys(lists).find((name) => lists[name]!.length > 0 && lists[name]!.length !== count)
  if (odd !== undefined) {
    const message = `There are ${count} entries, but ${lists[odd]!.length} ${odd}. Give one for each entry, or none.`
    return { property: odd, code: 'out_of_range', message }
  }
  if (count > MOST_ENTRIES) {
    const most = MOST_ENTRIES.toLocaleString('en')
    return { property: 'vectors', code: 'out_of_range', message: `There are more than ${most} entries at once.` }
  }
  const bare = lists.vectors!.length === 0 && count > 0
  if (bare && lists.texts!.length === 0)
    return { property: 'vectors', code: 'missing_property', message: 'The entries have neither vectors nor texts.' }
  if (bare && model === '')
    return {
      property: 'model',
      code: 'missing_property',
      message: 'The texts need a model that makes their vectors. Set model.',
    }
  return null
}

const LIST_PROPERTIES = ['texts', 'vectors', 'ids', 'metadata', 'model']

export function findIndexProblem({ data, isConnected }: NodeFacts): NodeProblem | null {
  if (
    LIST_PROPERTIES.some(isConnected) ||
    ['texts', 'vectors', 'ids', 'metadata'].some((name) => !Array.isArray(data[name]))
  )
    return null
  return findListsProblem(data)
}

export async function indexVectors(inputs: IndexInputs, context: NodeContext): Promise<OutputValues> {
  const { model } = inputs
  const problem = findListsProblem(inputs)
  if (problem)
    throw new NodeError(
      problem.message,
      problem.property === 'vectors' && problem.code === 'out_of_range' ? 'too_large' : 'bad_input',
    )
  // Vectors and ids are made of the texts as they are stored, so that they reveal no secret either.
  const texts = await context.services.redactTexts(inputs.texts)
  const made = inputs.vectors.length === 0 && texts.length > 0 ? await embedTexts(texts, inputs, context) : null
  const by = model === '' ? null : ((made?.usage.model as string | undefined) ?? model)
  const ids = await writeEntries({ ...inputs, texts, vectors: made?.vectors ?? inputs.vectors }, by, context)
  return { ids, count: ids.length, ...(made ? { usage: made.usage } : {}) }
}

/** Writes the entries in batches, and returns their ids. */
async function writeEntries(inputs: IndexInputs, model: string | null, context: NodeContext): Promise<string[]> {
  const { index, texts, vectors, metadata } = inputs
  const ids: string[] = []
  do {
    const entries: VectorEntry[] = []
    let [characters, numbers] = [0, 0]
    const hasRoom = () =>
      entries.length < ENTRIES_AT_ONCE && characters < CHARACTERS_AT_ONCE && numbers < NUMBERS_AT_ONCE
    while (ids.length < vectors.length && hasRoom()) {
      const at = ids.length
      const [vector, text] = [vectors[at]!, texts[at] ?? null]
      const id = inputs.ids[at] ?? (text === null ? contentId(vectorBytes(vector)) : contentId(toCanonicalText(text)))
      entries.push({ id, vector, text, metadata: metadata[at] ?? {} })
      ids.push(id)
      characters += text?.length ?? 0
      numbers += vector.length
    }
    await context.services.vectors.put(index, entries, model, context.signal)
  } while (ids.length < vectors.length)
  return ids
}

/** The same content has the same id, so that a repeated write adds no entry. */
function contentId(content: string | Uint8Array): string {
  return cryptoLibrary().createHash('sha256').update(content).digest('hex').slice(0, 32)
}

/** Adding 0 turns −0 into 0, so that both have the same bytes. */
function vectorBytes(vector: readonly number[]): Uint8Array {
  const numbers = new Float64Array(vector.length)
  for (let at = 0; at < vector.length; at++) numbers[at] = vector[at]! + 0
  return new Uint8Array(numbers.buffer)
}
