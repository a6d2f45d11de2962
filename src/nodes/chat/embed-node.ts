// chat.Embed: turns texts into vectors. Many texts are sent in several calls, and each call is a step.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { LONGEST_CONVERSATION } from './conversation.ts'
import {
  callModelOnce,
  guardProviderModel,
  modelNeed,
  modelProblem,
  modelProperty,
  sumModelUses,
} from './model-calls.ts'

/** In texts of one call: providers accept so many, and the answer is short enough to be remembered. */
const TEXTS_AT_ONCE = 100
const CHARACTERS_AT_ONCE = 200_000
/** In texts of one firing, because the vectors have to fit into its outputs. */
const MOST_TEXTS = 2_000

export interface EmbeddingOptions {
  readonly model: string
  readonly dimensions: number | null
}

interface EmbeddedBatch {
  readonly vectors: readonly (readonly number[])[]
  readonly use: ModelUsage | null
}

/** One vector for each text, and the usage. @throws NodeError */
export async function embedTexts(
  texts: readonly string[],
  { model, dimensions }: EmbeddingOptions,
  context: NodeContext,
): Promise<{ vectors: (readonly number[])[]; usage: Record<string, unknown> }> {
  guardProviderModel(model)
  guardEmbeddedTexts(texts)
  const { services, signal } = context
  const vectors: (readonly number[])[] = []
  const uses: (ModelUsage | null)[] = []
  const parts = splitIntoBatches(texts)
  for (const [at, input] of parts.entries()) {
    const call = async (): Promise<EmbeddedBatch> => {
      let use: ModelUsage | null = null
      const body = { model, input, ...(dimensions === null ? {} : { dimensions }) }
      const used = (reported: ModelUsage) => {
        use = reported
      }
      return { vectors: await services.models.embed({ body, signal, used }), use }
    }
    const part = await callModelOnce(context, `vectors ${at + 1}`, model, call)
    vectors.push(...part.vectors)
    uses.push(part.use)
    if (parts.length > 1) context.progress(at + 1, parts.length)
  }
  return { vectors, usage: sumModelUses(model, uses) }
}

function guardEmbeddedTexts(texts: readonly string[]): void {
  const empty = texts.indexOf('')
  if (empty >= 0) throw new NodeError(emptyTextMessage(empty), 'bad_input')
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  if (length <= LONGEST_CONVERSATION) return
  const most = LONGEST_CONVERSATION.toLocaleString('en')
  throw new NodeError(`All texts together have more than ${most} characters.`, 'too_large')
}

function splitIntoBatches(texts: readonly string[]): string[][] {
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
  optionalProperty(
    'dimensions',
    'int?',
    'How many numbers each vector has, if the model supports a choice. Without it the model decides.',
    {
      min: 1,
      max: 8_192,
    },
  )

/** The model call for these texts, as far as the node's own values tell. */
export function embeddingNeed(facts: NodeFacts, name: string): NodeNeed {
  const own = facts.isConnected(name) ? null : facts.data[name]
  const texts = Array.isArray(own) ? own : [own]
  const known = texts.every((text) => typeof text === 'string')
  return modelNeed(facts, known ? texts : null, 'embedding')
}

/** The first problem with the texts that is certain before a run. */
function findTextsProblem(facts: NodeFacts): NodeProblem | null {
  const { data, isConnected } = facts
  const wrong = modelProblem(facts)
  if (wrong) return wrong
  if (isConnected('texts') || data.texts === null) return null
  const texts: readonly unknown[] = Array.isArray(data.texts) ? data.texts : [data.texts]
  if (texts.length > MOST_TEXTS) return { property: 'texts', code: 'out_of_range', message: TOO_MANY }
  const empty = texts.indexOf('')
  return empty >= 0 ? { property: 'texts', code: 'out_of_range', message: emptyTextMessage(empty) } : null
}

const TOO_MANY = `There are more than ${MOST_TEXTS.toLocaleString('en')} texts. Split them, or use vector.Index.`

function emptyTextMessage(at: number): string {
  return `Text ${at + 1} is empty, and an empty text has no vector.`
}

interface EmbedInputs extends EmbeddingOptions {
  texts: string[]
}

async function runEmbed(inputs: EmbedInputs, context: NodeContext): Promise<OutputValues> {
  const { texts } = inputs
  if (texts.length > MOST_TEXTS) throw new NodeError(TOO_MANY, 'too_large')
  const { vectors, usage } = await embedTexts(texts, inputs, context)
  return { vectors, ...(vectors.length > 0 ? { vector: vectors[0] } : {}), usage }
}

export const embedNodes: NodeType[] = [
  {
    node_type: 'chat.Embed',
    title: 'Texts to vectors',
    description:
      'Lets a model turn texts into vectors. Texts with similar meanings have vectors that are near each other. Gives a vector for each text, and the first vector by itself.',
    properties: [
      modelProperty(),
      requiredProperty('texts', 'list[str]', 'A text or a list of at most 2,000 texts.'),
      dimensionsProperty(),
    ],
    outputs: [
      valueOutput('vectors', 'list[list[float]]'),
      valueOutput('vector', 'list[float]'),
      valueOutput('usage', 'dict[str,any]'),
    ],
    needs: (facts) => [embeddingNeed(facts, 'texts')],
    problem: findTextsProblem,
    run: (inputs, context) => runEmbed(inputs as unknown as EmbedInputs, context),
  },
]
