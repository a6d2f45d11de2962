// Asking a model for JSON of a shape: in the form that the model honours, and again, with what was wrong, where its answer does not fit.
import { NodeError } from '../engine/node-error.ts'
import type { NodeContext } from '../engine/node-type.ts'
import type { ModelMessage, ModelRequest } from '../engine/services.ts'
import { type Answer, answerTo, bodyOf, guardModel, once, type Sampling, sumOf } from './chat-calls.ts'
import { isStrict, type Schema } from './chat-schema.ts'
import { guardJsonText } from './json-size.ts'
import { guardDepth } from './limits.ts'

/** How much of a wrong answer is shown to the model, and of why it is wrong to whoever reads the error. */
const SHOWN_ANSWER = 20_000
const SHOWN_WHY = 500
/** In characters: an object is read in one go, and no model writes as much at once. */
const LONGEST_OBJECT = 500_000

export interface Question<Value> {
  readonly sampling: Sampling
  readonly messages: readonly ModelMessage[]
  readonly schema: Schema
  /** How often the model is asked again. */
  readonly repairs: number
  /** What an answer comes to. @throws Unfit where it is none */
  read(text: string): Value | Promise<Value>
}

/** An answer that does not fit; the message says why, for the model and for people. */
export class Unfit extends Error {}

type Format = Pick<ModelRequest['body'], 'response_format'>

/** @throws NodeError `bad_answer`, `refused`, and what calls of models throw */
export async function ask<Value>(
  { sampling, messages, schema, repairs, read }: Question<Value>,
  context: NodeContext,
): Promise<{ value: Value; usage: Record<string, unknown> }> {
  const { model } = sampling
  guardModel(model)
  const honoured = await context.services.models.capabilities(model, context.signal)
  const { format, asked } = formed(honoured, [...messages], schema)
  const answers: Answer[] = []
  let why = ''
  for (let attempt = 1; attempt <= repairs + 1; attempt++) {
    const body = bodyOf(sampling, asked, format)
    const answer = await once(context, `answer ${attempt}`, model, () => answerTo(body, context))
    answers.push(answer)
    try {
      const value = await read(answer.text)
      const uses = answers.map(({ use }) => use)
      return { value, usage: sumOf(model, uses) }
    } catch (error) {
      why = whyNot(error, answer)
    }
    context.log('warning', `Answer ${attempt} of the model does not fit: ${why}`)
    const again = `That does not fit: ${why} Answer again, with nothing but what was asked for.`
    asked.push({ role: 'assistant', content: answer.text.slice(0, SHOWN_ANSWER) }, { role: 'user', content: again })
  }
  const times = repairs === 0 ? 'once' : `${repairs + 1} times`
  throw new NodeError(`The model was asked ${times} and gave no answer that fits: ${why}`, 'bad_answer')
}

function whyNot(error: unknown, { finish_reason }: Answer): string {
  if (!(error instanceof Unfit)) throw error
  if (finish_reason === 'content_filter') throw new NodeError('The answer was held back by a filter.', 'refused')
  const cut = finish_reason === 'length' ? 'It was cut off at its limit of tokens. ' : ''
  return cut + (error.message.length > SHOWN_WHY ? `${error.message.slice(0, SHOWN_WHY)}…` : error.message)
}

/** A schema goes to models that are held to it; others read it in their instructions. */
function formed(
  honoured: readonly string[],
  messages: ModelMessage[],
  schema: Schema,
): { format: Format; asked: ModelMessage[] } {
  if (honoured.includes('structured_output')) {
    const strict = isStrict(schema) ? { strict: true } : {}
    const json_schema = { name: 'answer', schema, ...strict }
    return { format: { response_format: { type: 'json_schema', json_schema } }, asked: messages }
  }
  const rule = `Answer with one JSON object and nothing else. It must fit this JSON schema:\n${JSON.stringify(schema)}`
  const format: Format = honoured.includes('json_mode') ? { response_format: { type: 'json_object' } } : {}
  return { format, asked: instructed(messages, rule) }
}

/** The conversation with more at the end of what the model is told before it. */
function instructed([first, ...rest]: ModelMessage[], rule: string): ModelMessage[] {
  if (first?.role === 'system' && typeof first.content === 'string')
    return [{ ...first, content: `${first.content}\n\n${rule}` }, ...rest]
  return [{ role: 'system', content: rule }, ...(first ? [first] : []), ...rest]
}

const THOUGHTS = /^\s*<think>[\s\S]*?<\/think>/

/** The JSON object in an answer: alone, in a fence, or among other words. @throws Unfit */
export function objectIn(text: string): Record<string, unknown> {
  const bare = text.replace(THOUGHTS, '')
  const cut = bare.slice(bare.indexOf('{'), bare.lastIndexOf('}') + 1)
  const value = read(cut === '' ? bare : cut)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unfit('It is no JSON object.')
  return value as Record<string, unknown>
}

function read(text: string): unknown {
  if (text.length > LONGEST_OBJECT)
    throw new Unfit(`It has more than ${LONGEST_OBJECT.toLocaleString('en')} characters of JSON.`)
  try {
    guardJsonText(text)
    const value: unknown = JSON.parse(text)
    guardDepth(value)
    return value
  } catch (error) {
    throw new Unfit(error instanceof NodeError ? error.message : 'It is no JSON object.')
  }
}
