// Calls of models as nodes make them: the properties that they share, one answer read to its end, what it used, and what is foretold of it.
import { NodeError, NodeInterruptedError } from '../../engine/node-api/node-error.ts'
import type { ModelMessage, ModelPart, ModelRequest, ModelUsage } from '../../engine/node-api/node-services.ts'
import type {
  InputValues,
  NodeContext,
  NodeFacts,
  NodeNeed,
  NodeProblem,
  NodeProperty,
} from '../../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty } from '../shared/node-type-builders.ts'

/** The model that costs nothing and says the same each time; of any other one nobody here knows either. */
export const ECHO_MODEL = 'builtin/echo'

/** How much of why a model declines is told. */
const SHOWN_REFUSAL = 500
/** How much of the id of a workflow is told. */
const SHOWN_ID = 100

export type AnswerEnd = Extract<ModelPart, { type: 'end' }>

export const modelProperty = (): NodeProperty =>
  requiredProperty(
    'model',
    'str',
    'The model as provider/name, such as builtin/echo. A bare name means the only provider that has it.',
  )

const WORKFLOW = 'workflow/'

/** Why a workflow, which others may ask as a model, is none for nodes; null of a model. */
export function explainWorkflowModel(model: string): string | null {
  if (!model.startsWith(WORKFLOW)) return null
  const id = model.slice(WORKFLOW.length, WORKFLOW.length + SHOWN_ID)
  return `"${WORKFLOW}${id}" is a workflow, and nodes ask models alone: call it with a node workflow.Call whose workflow_id is "${id}".`
}

/** What is certain to go wrong with the model. */
export function modelProblem({ data: { model }, isConnected }: NodeFacts): NodeProblem | null {
  const message = isConnected('model') || typeof model !== 'string' ? null : explainWorkflowModel(model)
  return message === null ? null : { property: 'model', code: 'type_mismatch', message }
}

/** @throws NodeError `bad_input` where it is a workflow */
export function guardProviderModel(model: string): void {
  const why = explainWorkflowModel(model)
  if (why !== null) throw new NodeError(why, 'bad_input')
}

/** How a model answers. Null where the model decides. */
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
  optionalProperty('temperature', 'float?', 'How freely the model chooses its words. Without it the model decides.', {
    min: 0,
    max: 2,
  }),
  optionalProperty('seed', 'int?', 'The same seed gives the same answer again, where the model can do that.', {
    min: 0,
  }),
]

/** What is asked; what nobody set is left to the model. @throws NodeError `bad_input` where that is a workflow */
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

/** The pieces of an answer, then its end. What the model thinks is shown alone. @throws NodeError `refused` where it declines */
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
  const shown = refusal.length > SHOWN_REFUSAL ? `${refusal.slice(0, SHOWN_REFUSAL)}…` : refusal
  throw new NodeError(`The model declines to answer: ${shown}`, 'refused')
}

/** An answer that was read to its end. Plain data: it can be remembered. */
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
 * A call that is made once, whatever interrupts its firing: one that had ended gives what it came to. One that was cut off is not made again by
 * itself, but with the model that costs nothing. The name tells it from the firing's other ones.
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
    `Node "${node_id}" was interrupted in a call of a model, which may have been paid: it is not made again by itself.`,
  )
}

/** What one call used, as its node gives it. */
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

/** What several calls used together. A cost that is not known of one is not known of all, and neither is one in two currencies. */
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

/** A call as it is foretold: `prompt` is null where nobody knows it before the run. */
export function modelNeed({ data, isConnected }: NodeFacts, prompt: string | null, task = 'chat'): NodeNeed {
  const own = (name: string) => (isConnected(name) ? null : data[name])
  const [model, limit] = [own('model'), own('max_output_tokens')]
  return {
    kind: 'model',
    model: typeof model === 'string' && model !== '' ? model : null,
    task,
    prompt,
    // What is turned into vectors is not answered.
    max_output_tokens: task === 'embedding' ? 0 : typeof limit === 'number' ? limit : null,
    ...(typeof own('seed') === 'number' ? { fields: ['seed'] } : {}),
  }
}
