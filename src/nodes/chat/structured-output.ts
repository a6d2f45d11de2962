// Asking a model for JSON of a shape: in the form that the model honours, and again, with what was wrong, where its answer does not fit.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { ModelMessage, ModelRequest } from '../../engine/node-api/node-services.ts'
import type { NodeContext } from '../../engine/node-api/node-type.ts'
import { guardJsonText } from '../shared/json-size.ts'
import { guardDepth } from '../shared/value-limits.ts'
import { isStrictSchema, type JsonSchema } from './answer-schema.ts'
import {
  buildChatBody,
  type CompletedAnswer,
  callModelOnce,
  guardProviderModel,
  requestAnswer,
  type SamplingInputs,
  sumModelUses,
} from './model-calls.ts'

/** How much of a wrong answer is shown to the model, and of why it is wrong to whoever reads the error. */
const LONGEST_SHOWN_ANSWER = 20_000
const LONGEST_SHOWN_REASON = 500
/** In characters: an object is read in one go, and no model writes as much at once. */
const LONGEST_OBJECT = 500_000

export interface StructuredQuestion<Value> {
  readonly sampling: SamplingInputs
  readonly messages: readonly ModelMessage[]
  readonly schema: JsonSchema
  /** How often the model is asked again. */
  readonly repairs: number
  /** What an answer comes to. @throws Unfit where it is none */
  read(text: string): Value | Promise<Value>
}

/** An answer that does not fit; the message says why, for the model and for people. */
export class InvalidAnswerError extends Error {}

type ResponseFormat = Pick<ModelRequest['body'], 'response_format'>

/** @throws NodeError `bad_answer`, `refused`, and what calls of models throw */
export async function requestStructuredOutput<Value>(
  { sampling, messages, schema, repairs, read }: StructuredQuestion<Value>,
  context: NodeContext,
): Promise<{ value: Value; usage: Record<string, unknown> }> {
  const { model } = sampling
  guardProviderModel(model)
  const capabilities = await context.services.models.capabilities(model, context.signal)
  const { format, asked: conversation } = applySchema(capabilities, [...messages], schema)
  const answers: CompletedAnswer[] = []
  let reason = ''
  for (let attempt = 1; attempt <= repairs + 1; attempt++) {
    const body = buildChatBody(sampling, conversation, format)
    const answer = await callModelOnce(context, `answer ${attempt}`, model, () => requestAnswer(body, context))
    answers.push(answer)
    try {
      const value = await read(answer.text)
      const uses = answers.map(({ use }) => use)
      return { value, usage: sumModelUses(model, uses) }
    } catch (error) {
      reason = explainInvalidAnswer(error, answer)
    }
    context.log('warning', `Answer ${attempt} of the model does not fit: ${reason}`)
    const again = `That does not fit: ${reason} Answer again, with nothing but what was asked for.`
    conversation.push(
      { role: 'assistant', content: answer.text.slice(0, LONGEST_SHOWN_ANSWER) },
      { role: 'user', content: again },
    )
  }
  const times = repairs === 0 ? 'once' : `${repairs + 1} times`
  throw new NodeError(`The model was asked ${times} and gave no answer that fits: ${reason}`, 'bad_answer')
}

function explainInvalidAnswer(error: unknown, { finish_reason }: CompletedAnswer): string {
  if (!(error instanceof InvalidAnswerError)) throw error
  if (finish_reason === 'content_filter') throw new NodeError('The answer was held back by a filter.', 'refused')
  const cut = finish_reason === 'length' ? 'It was cut off at its limit of tokens. ' : ''
  return (
    cut +
    (error.message.length > LONGEST_SHOWN_REASON ? `${error.message.slice(0, LONGEST_SHOWN_REASON)}…` : error.message)
  )
}

/** A schema goes to models that are held to it; others read it in their instructions. */
function applySchema(
  honoured: readonly string[],
  messages: ModelMessage[],
  schema: JsonSchema,
): { format: ResponseFormat; asked: ModelMessage[] } {
  if (honoured.includes('structured_output')) {
    const strict = isStrictSchema(schema) ? { strict: true } : {}
    const json_schema = { name: 'answer', schema, ...strict }
    return { format: { response_format: { type: 'json_schema', json_schema } }, asked: messages }
  }
  const rule = `Answer with one JSON object and nothing else. It must fit this JSON schema:\n${JSON.stringify(schema)}`
  const format: ResponseFormat = honoured.includes('json_mode') ? { response_format: { type: 'json_object' } } : {}
  return { format, asked: appendInstructions(messages, rule) }
}

/** The conversation with more at the end of what the model is told before it. */
function appendInstructions([first, ...rest]: ModelMessage[], rule: string): ModelMessage[] {
  if (first?.role === 'system' && typeof first.content === 'string')
    return [{ ...first, content: `${first.content}\n\n${rule}` }, ...rest]
  return [{ role: 'system', content: rule }, ...(first ? [first] : []), ...rest]
}

const THINKING_BLOCK = /^\s*<think>[\s\S]*?<\/think>/

/** The JSON object in an answer: alone, in a fence, or among other words. @throws Unfit */
export function parseJsonObject(text: string): Record<string, unknown> {
  const bare = text.replace(THINKING_BLOCK, '')
  const cut = bare.slice(bare.indexOf('{'), bare.lastIndexOf('}') + 1)
  const value = parseJson(cut === '' ? bare : cut)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidAnswerError('It is no JSON object.')
  return value as Record<string, unknown>
}

function parseJson(text: string): unknown {
  if (text.length > LONGEST_OBJECT)
    throw new InvalidAnswerError(`It has more than ${LONGEST_OBJECT.toLocaleString('en')} characters of JSON.`)
  try {
    guardJsonText(text)
    const value: unknown = JSON.parse(text)
    guardDepth(value)
    return value
  } catch (error) {
    throw new InvalidAnswerError(error instanceof NodeError ? error.message : 'It is no JSON object.')
  }
}
