// Asks a model for JSON that satisfies a schema, in the form that the model supports. An invalid answer is sent back with its faults.

import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { ModelMessage, ModelRequest } from '../../engine/node-api/services/models.ts'
import { truncateText } from '../../shared/text-truncation.ts'
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

/** In characters of a wrong answer that the model sees again, and of the reason that an error shows. */
const LONGEST_SHOWN_ANSWER = 20_000
const LONGEST_SHOWN_REASON = 500
/** In characters. An object is parsed in one go, and no model writes more at once. */
const LONGEST_OBJECT = 500_000

export interface StructuredQuestion<Value> {
  readonly sampling: SamplingInputs
  readonly messages: readonly ModelMessage[]
  readonly schema: JsonSchema
  /** How often the model is asked again. */
  readonly repairs: number
  /** Reads the value of an answer. @throws InvalidAnswerError if the answer has none */
  read(text: string): Value | Promise<Value>
}

/** An answer is invalid. The message says why, to the model and to people. */
export class InvalidAnswerError extends Error {}

type ResponseFormat = Pick<ModelRequest['body'], 'response_format'>

/** @throws NodeError `bad_answer`, `refused`, and the errors of model calls */
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
    context.log('warning', `Answer ${attempt} of the model is invalid: ${reason}`)
    const again = `That does not fit: ${reason} Answer again, with nothing but what was asked for.`
    conversation.push(
      { role: 'assistant', content: answer.text.slice(0, LONGEST_SHOWN_ANSWER) },
      { role: 'user', content: again },
    )
  }
  const times = repairs === 0 ? 'once' : `${repairs + 1} times`
  throw new NodeError(`The model was asked ${times} and gave no valid answer: ${reason}`, 'bad_answer')
}

function explainInvalidAnswer(error: unknown, { finish_reason }: CompletedAnswer): string {
  if (!(error instanceof InvalidAnswerError)) throw error
  if (finish_reason === 'content_filter')
    throw new NodeError('The content filter of the provider withheld the answer.', 'refused')
  const cut = finish_reason === 'length' ? 'It was cut off at its limit of tokens. ' : ''
  return cut + truncateText(error.message, LONGEST_SHOWN_REASON)
}

/** Sends the schema as a response format to models that support it, and as instructions to other models. */
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

/** Adds a rule to the end of the system message. */
function appendInstructions([first, ...rest]: ModelMessage[], rule: string): ModelMessage[] {
  if (first?.role === 'system' && typeof first.content === 'string')
    return [{ ...first, content: `${first.content}\n\n${rule}` }, ...rest]
  return [{ role: 'system', content: rule }, ...(first ? [first] : []), ...rest]
}

const THINKING_BLOCK = /^\s*<think>[\s\S]*?<\/think>/

/** Finds the JSON object in an answer: alone, in a fence, or among other words. @throws InvalidAnswerError */
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
