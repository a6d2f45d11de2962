// chat.Summarize: makes a short text of a long one. A text too long for one call is summarized in pieces first, then the summaries
// together. Each call is a step, so that an interruption does not repeat paid calls.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import type { ModelMessage, ModelUsage } from '../../engine/node-api/services/models.ts'
import { optionalProperty, requiredProperty, streamOutput, valueOutput } from '../shared/node-type-builders.ts'
import { chunkAtBoundaries } from '../shared/text-chunks.ts'
import {
  buildChatBody,
  type CompletedAnswer,
  callModelOnce,
  ECHO_MODEL,
  interruptedCallError,
  modelNeed,
  modelProblem,
  modelProperty,
  requestAnswer,
  type SamplingInputs,
  samplingProperties,
  streamAnswer,
  sumModelUses,
} from './model-calls.ts'

/** In pieces of one level. Each piece costs a call. */
const MOST_PIECES = 500
/** Pieces that are summarized in parallel. */
const MOST_CONCURRENT_CALLS = 4

interface SummarizeInputs extends SamplingInputs {
  text: string
  instructions: string
  piece_length: number
}

function buildMessages(text: string, instructions: string, merges: boolean): ModelMessage[] {
  const task = merges
    ? 'The user gives summaries of the parts of one text, in their order. Make one summary of the whole text out of them.'
    : 'Summarize the text of the user.'
  const rules = 'Answer with the summary alone, in the language of the text.'
  const content = [`${task} ${rules}`, instructions].filter((part) => part !== '').join('\n\n')
  return [
    { role: 'system', content },
    { role: 'user', content: text },
  ]
}

async function* runSummarize(
  inputs: SummarizeInputs,
  context: NodeContext,
): AsyncGenerator<OutputValues, OutputValues, unknown> {
  const { text, piece_length, model } = inputs
  if (text.trim() === '') throw new NodeError('The text is empty.', 'bad_input')
  const uses: (ModelUsage | null)[] = []
  let left = text
  let level = 0
  for (; left.length > piece_length; level++) {
    const answers = await summarizePieces(splitIntoPieces(left, inputs), level, inputs, context)
    uses.push(...answers.map(({ use }) => use))
    const merged = answers.map((answer) => answer.text.trim()).join('\n\n')
    if (merged.length > left.length / 2) {
      const message =
        'The summaries of the pieces are not much shorter than the text. Ask for shorter summaries in instructions, or raise piece_length.'
      throw new NodeError(message, 'too_large')
    }
    left = merged
  }
  const last = yield* streamSummary(
    buildChatBody(inputs, buildMessages(left, inputs.instructions, level > 0)),
    model,
    context,
  )
  return { usage: sumModelUses(model, [...uses, last]) }
}

function splitIntoPieces(text: string, { piece_length }: SummarizeInputs): string[] {
  const pieces = chunkAtBoundaries(text, piece_length, MOST_PIECES)
  if (pieces.length <= MOST_PIECES) return pieces
  throw new NodeError(`The text has more than ${MOST_PIECES} pieces. Raise piece_length.`, 'too_large')
}

/** The summaries of all pieces, in their order. The first failure stops the other calls. */
async function summarizePieces(
  pieces: readonly string[],
  level: number,
  inputs: SummarizeInputs,
  context: NodeContext,
): Promise<CompletedAnswer[]> {
  const { model, instructions } = inputs
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const answers: CompletedAnswer[] = []
  let next = 0
  let done = 0
  const work = async (): Promise<void> => {
    while (next < pieces.length && !signal.aborted) {
      const at = next++
      const body = buildChatBody(inputs, buildMessages(pieces[at]!, instructions, level > 0))
      answers[at] = await callModelOnce(context, `piece ${level}.${at}`, model, () =>
        requestAnswer(body, context, signal),
      )
      context.progress(++done, pieces.length)
    }
  }
  const failed = (error: unknown) => {
    stop.abort(error)
    throw error
  }
  await Promise.allSettled(Array.from({ length: MOST_CONCURRENT_CALLS }, () => work().catch(failed)))
  context.signal.throwIfAborted()
  stop.signal.throwIfAborted()
  return answers
}

/** Streams the last answer, after the text that was given before an interruption. */
async function* streamSummary(
  body: ReturnType<typeof buildChatBody>,
  model: string,
  context: NodeContext,
): AsyncGenerator<OutputValues, ModelUsage | null, unknown> {
  const { services, signal } = context
  const given = context.previousItems.map(({ text }) => String(text)).join('')
  const chunk: NodeContext['chunk'] = (content, options) => context.chunk(content, options)
  using step = await context.step('the summary')
  if (step.previousResult) {
    const { text, use } = step.previousResult.value as CompletedAnswer
    if (text.length > given.length) yield { text: text.slice(given.length) }
    return use
  }
  if (step.wasInterrupted && model !== ECHO_MODEL) throw interruptedCallError(context)
  const pieces = streamAnswer(body, { services, chunk }, signal)
  // The parts are joined once, because each look into a growing string copies all of it.
  const parts: string[] = []
  let length = 0
  try {
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) {
        const text = parts.join('')
        await step.end({
          text,
          use: value?.use ?? null,
          finish_reason: value?.finish_reason ?? null,
        } satisfies CompletedAnswer)
        chunk('', { done: true })
        return value?.use ?? null
      }
      const fresh = value.slice(Math.max(0, given.length - length))
      parts.push(value)
      length += value.length
      if (fresh === '') continue
      chunk(fresh)
      yield { text: fresh }
    }
  } finally {
    await pieces.return(null)
  }
}

/** One call for each piece, and one for their summaries, whose prompt is unknown before the run. */
function listModelNeeds(facts: NodeFacts): NodeNeed[] {
  const { text, instructions, piece_length } = facts.data
  const known = !['text', 'instructions', 'piece_length'].some(facts.isConnected)
  if (!known || typeof text !== 'string' || typeof piece_length !== 'number') return [modelNeed(facts, null)]
  const sent = (piece: string) =>
    modelNeed(
      facts,
      buildMessages(piece, String(instructions), false).map(({ content }) => String(content)),
    )
  if (text.length <= piece_length) return [sent(text)]
  return [...chunkAtBoundaries(text, piece_length, MOST_PIECES).slice(0, MOST_PIECES).map(sent), modelNeed(facts, null)]
}

function findTextProblem(facts: NodeFacts): NodeProblem | null {
  const { text } = facts.data
  const wrong = modelProblem(facts)
  if (wrong) return wrong
  if (facts.isConnected('text') || typeof text !== 'string' || text.trim() !== '') return null
  return { property: 'text', code: 'missing_property', message: 'The text is empty.' }
}

export const summarizeNodes: NodeType[] = [
  {
    node_type: 'chat.Summarize',
    title: 'Summarize text',
    description:
      'Lets a model summarize a text, and streams the summary. A text that is longer than a piece is summarized piece by piece first, then the summaries together.',
    properties: [
      modelProperty(),
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty('instructions', 'str', 'The length, readers and form of the summary.', {
        default: '',
      }),
      optionalProperty('piece_length', 'int', 'The most characters that are sent in one call.', {
        default: 24_000,
        min: 500,
        max: 2_000_000,
      }),
      ...samplingProperties(),
    ],
    outputs: [{ ...streamOutput('text', 'str'), stream_kind: 'text' }, valueOutput('usage', 'dict[str,any]')],
    gives_all: true,
    resumes: true,
    needs: listModelNeeds,
    problem: findTextProblem,
    run: (inputs, context) => runSummarize(inputs as SummarizeInputs, context),
  },
]
