// chat.Embed: texts as vectors. Many of them are sent in several calls, each of which is a step of its own.
import {
  type NodeContext,
  NodeError,
  type NodeFacts,
  type NodeNeed,
  type NodeProblem,
  type NodeType,
  type Outputs,
} from '../engine/node-type.ts'
import type { ModelUse } from '../engine/services.ts'
import { guardModel, modelNeed, modelProblem, modelProperty, once, sumOf } from './chat-calls.ts'
import { LONGEST_CONVERSATION } from './chat-messages.ts'
import { option, output, required } from './define.ts'

/** In one call, so that it is no longer than providers take, and its answer not too long to be remembered. */
const TEXTS_AT_ONCE = 100
const CHARACTERS_AT_ONCE = 200_000
/** Of one firing: what it gives has to fit through its outputs. */
const MOST_TEXTS = 2_000

export interface Embedding {
  readonly model: string
  readonly dimensions: number | null
}

interface Vectors {
  readonly vectors: readonly (readonly number[])[]
  readonly use: ModelUse | null
}

/** One vector for each text, and what that used. @throws NodeError */
export async function embedded(
  texts: readonly string[],
  { model, dimensions }: Embedding,
  context: NodeContext,
): Promise<{ vectors: (readonly number[])[]; usage: Record<string, unknown> }> {
  guardModel(model)
  guardTexts(texts)
  const { services, signal } = context
  const vectors: (readonly number[])[] = []
  const uses: (ModelUse | null)[] = []
  const parts = portions(texts)
  for (const [at, input] of parts.entries()) {
    const call = async (): Promise<Vectors> => {
      let use: ModelUse | null = null
      const body = { model, input, ...(dimensions === null ? {} : { dimensions }) }
      const used = (told: ModelUse) => {
        use = told
      }
      return { vectors: await services.models.embed({ body, signal, used }), use }
    }
    const part = await once(context, `vectors ${at + 1}`, model, call)
    vectors.push(...part.vectors)
    uses.push(part.use)
    if (parts.length > 1) context.progress(at + 1, parts.length)
  }
  return { vectors, usage: sumOf(model, uses) }
}

function guardTexts(texts: readonly string[]): void {
  const empty = texts.indexOf('')
  if (empty >= 0) throw new NodeError(emptyText(empty), 'bad_input')
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  if (length <= LONGEST_CONVERSATION) return
  const most = LONGEST_CONVERSATION.toLocaleString('en')
  throw new NodeError(`All texts together have more than ${most} characters.`, 'too_large')
}

function portions(texts: readonly string[]): string[][] {
  const all: string[][] = []
  let length = 0
  for (const text of texts) {
    const last = all.at(-1)
    length += text.length
    if (last && last.length < TEXTS_AT_ONCE && length <= CHARACTERS_AT_ONCE) last.push(text)
    else {
      all.push([text])
      length = text.length
    }
  }
  return all
}

export const dimensionsProperty = () =>
  option(
    'dimensions',
    'int?',
    'How many numbers each vector has, where the model can choose. Without it the model decides.',
    {
      min: 1,
      max: 8_192,
    },
  )

/** The call for these texts, as far as the node's own values tell. */
export function embeddingNeed(facts: NodeFacts, name: string): NodeNeed {
  const own = facts.isConnected(name) ? null : facts.data[name]
  const texts = Array.isArray(own) ? own : [own]
  const known = texts.every((text) => typeof text === 'string')
  return modelNeed(facts, known ? texts.join('\n') : null, 'embedding')
}

/** What of the texts can be seen to fail before a run. */
function problem(facts: NodeFacts): NodeProblem | null {
  const { data, isConnected } = facts
  const wrong = modelProblem(facts)
  if (wrong) return wrong
  if (isConnected('texts') || data.texts === null) return null
  const texts = [data.texts].flat()
  const empty = texts.indexOf('')
  if (empty >= 0) return { property: 'texts', code: 'out_of_range', message: emptyText(empty) }
  return texts.length > MOST_TEXTS ? { property: 'texts', code: 'out_of_range', message: TOO_MANY } : null
}

const TOO_MANY = `There are more than ${MOST_TEXTS.toLocaleString('en')} texts. Take them in parts, or use vector.Index.`

function emptyText(at: number): string {
  return `Text ${at + 1} is empty: it has no vector.`
}

interface EmbedInputs extends Embedding {
  texts: string[]
}

async function embed(inputs: EmbedInputs, context: NodeContext): Promise<Outputs> {
  const { texts } = inputs
  if (texts.length > MOST_TEXTS) throw new NodeError(TOO_MANY, 'too_large')
  const { vectors, usage } = await embedded(texts, inputs, context)
  return { vectors, ...(vectors.length > 0 ? { vector: vectors[0] } : {}), usage }
}

export const embedNodes: NodeType[] = [
  {
    node_type: 'chat.Embed',
    title: 'Texts to vectors',
    description:
      'Has a model turn texts into vectors, which are near each other where the texts mean something alike. Gives one for each text, and the first one by itself.',
    properties: [
      modelProperty(),
      required('texts', 'list[str]', 'The texts, or a single one; at most 2,000.'),
      dimensionsProperty(),
    ],
    outputs: [
      output('vectors', 'list[list[float]]'),
      output('vector', 'list[float]'),
      output('usage', 'dict[str,any]'),
    ],
    needs: (facts) => [embeddingNeed(facts, 'texts')],
    problem,
    run: (inputs, context) => embed(inputs as unknown as EmbedInputs, context),
  },
]
