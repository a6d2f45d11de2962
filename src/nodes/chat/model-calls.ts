// Model calls of nodes: shared properties, the answer read to its end, its usage, and the forecast of a call.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError, NodeInterruptedError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { NodeProperty } from '../../engine/node-api/node-type.ts'
import type { ModelMessage, ModelPart, ModelRequest, ModelUsage } from '../../engine/node-api/services/models.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import { optionalProperty, requiredProperty } from '../shared/node-type-builders.ts'

/** The built-in model, which is free and repeatable. Other models are known to providers only. */
export const ECHO_MODEL = 'builtin/echo'

/** In characters of a refusal that an error shows. */
const SHOWN_REFUSAL = 500
/** In characters of a workflow id that an error shows. */
const SHOWN_ID = 100

export type AnswerEnd = Extract<ModelPart, { type: 'end' }>

export const modelProperty = (): NodeProperty =>
  requiredProperty(
    'model',
    'str',
    'The model as provider/name, such as builtin/echo. A name without provider works if only one provider has it.',
  )

const WORKFLOW = 'workflow/'

/** Why a workflow, which clients may call as a model, is no model for nodes; null for a model. */
export function explainWorkflowModel(model: string): string | null {
  if (!model.startsWith(WORKFLOW)) return null
  const id = model.slice(WORKFLOW.length, WORKFLOW.length + SHOWN_ID)
  return `"${WORKFLOW}${id}" is a workflow, not a model. Call it with a node workflow.Call whose workflow_id is "${id}".`
}

/** The problem with the model that is certain before a run. */
export function modelProblem({ data: { model }, isConnected }: NodeFacts): NodeProblem | null {
  const message = isConnected('model') || typeof model !== 'string' ? null : explainWorkflowModel(model)
  return message === null ? null : { property: 'model', code: 'type_mismatch', message }
}

/** @throws NodeError `bad_input` if the model is a workflow */
export function guardProviderModel(model: string): void {
  const why = explainWorkflowModel(model)
  if (why !== null) throw new NodeError(why, 'bad_input')
}

/** Null means that the model decides. */
export interface SamplingInputs extends InputValues {
  readonly model: string
  readonly max_output_tokens: number | null
  readonly temperature: number | null
  readonly seed: number | null
}

export const samplingProperties = (): NodeProperty[] => [
  optionalProperty('max_output_tokens', 'int?', 'The most tokens of one answer. Without it the model decides.', {
    min: 1,
    max: 10_000_000,
  }),
  optionalProperty(
    'temperature',
    'float?',
    'How freely the model chooses its words; 0 is the least. Without it the model decides.',
    {
      min: 0,
      max: 2,
    },
  ),
  optionalProperty('seed', 'int?', 'The same seed gives the same answer again, if the model supports seeds.', {
    min: 0,
  }),
]

/** The request body without unset values, for which the model decides. @throws NodeError `bad_input` if the model is a workflow */
export function buildChatBody(
  { model, max_output_tokens, temperature, seed }: SamplingInputs,
  messages: ModelMessage[],
  extra: Partial<ModelRequest['body']> = {},
): ModelRequest['body'] {
  guardProviderModel(model)
  const wishes = { max_completion_tokens: max_output_tokens, temperature, seed, ...extra }
  const set = Object.fromEntries(Object.entries(wishes).filter(([, value]) => value !== null && value !== undefined))
  return { model, messages, ...set }
}

/** Yields the pieces of an answer and returns its end. Thinking is shown but not yielded. @throws NodeError `refused` if the model refuses */
export async function* streamAnswer(
  body: ModelRequest['body'],
  { services, chunk }: Pick<NodeContext, 'services' | 'chunk'>,
  signal: AbortSignal,
): AsyncGenerator<string, AnswerEnd | null, void> {
  let refusal = ''
  let end: AnswerEnd | null = null
  for await (const part of services.models.complete({ body, signal })) {
    if (part.type === 'end') end = part
    else if (part.type === 'thinking') chunk(part.text, { thinking: true })
    else if (part.type === 'refusal') refusal += part.text
    else if (part.type === 'text') yield part.text
  }
  if (refusal === '') return end
  const shown = truncateText(refusal, SHOWN_REFUSAL)
  throw new NodeError(`The model declines to answer: ${shown}`, 'refused')
}

/** An answer that was read to its end, as plain data that can be remembered. */
export interface CompletedAnswer {
  readonly text: string
  readonly use: ModelUsage | null
  readonly finish_reason: AnswerEnd['finish_reason'] | null
}

export async function requestAnswer(
  body: ModelRequest['body'],
  context: NodeContext,
  signal = context.signal,
): Promise<CompletedAnswer> {
  const { services } = context
  const chunk: NodeContext['chunk'] = (content, options) => context.chunk(content, options)
  const pieces = streamAnswer(body, { services, chunk }, signal)
  let text = ''
  for (;;) {
    const { done, value } = await pieces.next()
    if (done) return { text, use: value?.use ?? null, finish_reason: value?.finish_reason ?? null }
    text += value
  }
}

/**
 * Makes a call at most once, even if its firing is interrupted. A finished call returns its remembered result. An interrupted call is
 * repeated only with the free model. `name` distinguishes the calls of a firing.
 */
export async function callModelOnce<Result>(
  context: NodeContext,
  name: string,
  model: string,
  call: () => Promise<Result>,
): Promise<Result> {
  using step = await context.step(name)
  if (step.previousResult) return step.previousResult.value as Result
  if (step.wasInterrupted && model !== ECHO_MODEL) throw interruptedCallError(context)
  const result = await call()
  await step.end(result)
  return result
}

export function interruptedCallError({ node_id }: NodeContext): NodeInterruptedError {
  return new NodeInterruptedError(
    `Node "${node_id}" was interrupted during a model call that may have been paid for. The call is not repeated automatically.`,
  )
}

/** The usage of one call in the form of a node output. */
export function toUsageOutput(use: ModelUsage, more: Record<string, unknown> = {}): Record<string, unknown> {
  const { model, input_tokens, output_tokens, cost } = use
  return {
    model,
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
    cost: cost?.amount ?? null,
    currency: cost?.currency ?? null,
    ...more,
  }
}

/** The usage of several calls together. The total cost is unknown if a cost is unknown or if currencies differ. */
export function sumModelUses(model: string, uses: readonly (ModelUsage | null)[]): Record<string, unknown> {
  const known = uses.filter((use) => use !== null)
  const currency = known[0]?.cost?.currency ?? null
  const priced = known.every(({ cost }) => cost !== null && cost.currency === currency)
  const total = (of: (use: ModelUsage) => number) => known.reduce((sum, use) => sum + of(use), 0)
  const amount = Number(total(({ cost }) => cost?.amount ?? 0).toPrecision(12))
  const use: ModelUsage = {
    model: known[0]?.model ?? model,
    input_tokens: total(({ input_tokens }) => input_tokens),
    output_tokens: total(({ output_tokens }) => output_tokens),
    cost: priced && currency !== null ? { amount, currency, reported: false } : null,
  }
  return toUsageOutput(use, { calls: known.length })
}

/** The forecast of a call. `prompt` is null if it is unknown before the run. */
export function modelNeed({ data, isConnected }: NodeFacts, prompt: readonly string[] | null, task = 'chat'): NodeNeed {
  const own = (name: string) => (isConnected(name) ? null : data[name])
  const [model, limit] = [own('model'), own('max_output_tokens')]
  return {
    kind: 'model',
    model: typeof model === 'string' && model !== '' ? model : null,
    task,
    prompt,
    // An embedding has no output tokens.
    max_output_tokens: task === 'embedding' ? 0 : typeof limit === 'number' ? limit : null,
    ...(typeof own('seed') === 'number' ? { fields: ['seed'] } : {}),
  }
}
