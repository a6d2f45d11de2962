// chat.Complete: a conversation with a model. The providers of the host decide which models exist and what they cost.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed } from '../../engine/node-api/node-facts.ts'
import type { NodeProperty, NodeType } from '../../engine/node-api/node-type.ts'
import type { ModelMessage } from '../../engine/node-api/services/models.ts'
import { optionalProperty, streamOutput, valueOutput } from '../shared/node-type-builders.ts'
import { buildConversation, conversationProblem } from './conversation.ts'
import { hasImages, inlineImages, listImageNeeds } from './image-inlining.ts'
import {
  buildChatBody,
  ECHO_MODEL,
  modelNeed,
  modelProblem,
  modelProperty,
  type SamplingInputs,
  samplingProperties,
  streamAnswer,
  toUsageOutput,
} from './model-calls.ts'

/** The properties that make up the request. If all are known, so is its prompt. */
const CONVERSATION_PROPERTY_NAMES = ['system', 'messages', 'prompt', 'images'] as const

const MOST_STOP_TEXTS = 4

interface CompleteInputs extends SamplingInputs {
  top_p: number | null
  stop: string[]
}

async function* complete(
  inputs: CompleteInputs,
  context: NodeContext,
): AsyncGenerator<OutputValues, OutputValues, unknown> {
  const { services, signal } = context
  const { top_p, stop } = inputs
  if (stop.length > MOST_STOP_TEXTS)
    throw new NodeError(`\`stop\` takes at most ${MOST_STOP_TEXTS} strings.`, 'bad_input')
  const messages = await inlineImages(buildConversation(inputs), inputs, context)
  const body = buildChatBody(inputs, messages, { top_p, stop: stop.length > 0 ? stop : null })
  const chunk: NodeContext['chunk'] = (content, options) => context.chunk(content, options)
  const pieces = streamAnswer(body, { services, chunk }, signal)
  try {
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) {
        chunk('', { done: true })
        return value ? { usage: toUsageOutput(value.use, { finish_reason: value.finish_reason }) } : {}
      }
      chunk(value)
      yield { text: value }
    }
  } finally {
    // Ends the call if the reader stops early.
    await pieces.return(null)
  }
}

/** The properties that make up a conversation. */
export const conversationProperties = (): NodeProperty[] => [
  optionalProperty('system', 'str', 'The instructions for the model before the conversation.', { default: '' }),
  optionalProperty('prompt', 'str', 'The last message of the user.', { default: '' }),
  optionalProperty(
    'messages',
    'list[dict[str,any]]',
    'The conversation before the prompt: objects with a role (system, user or assistant) and a content. The content is a text or a list of text parts; a user may also have image_url parts.',
    { default: [] },
  ),
  optionalProperty(
    'images',
    'list[any]',
    'Pictures for the prompt: bytes, URLs (http, data:, asset:// or /api/storage/), or objects with such a URL as their uri.',
    { default: [] },
  ),
]

/** The model call of a conversation. The tokens of pictures are unknown before the run. */
export function listConversationNeeds(facts: NodeFacts): NodeNeed[] {
  return [
    modelNeed(facts, CONVERSATION_PROPERTY_NAMES.some(facts.isConnected) ? null : listPromptTexts(facts.data)),
    ...listImageNeeds(facts),
  ]
}

function listPromptTexts(data: NodeFacts['data']): string[] | null {
  try {
    const messages = buildConversation(data)
    if (messages.some(hasImages) || (Array.isArray(data.images) && data.images.length > 0)) return null
    return messages.flatMap(listMessageTexts)
  } catch {
    // The firing will report the problem.
    return null
  }
}

function listMessageTexts({ content }: ModelMessage): string | string[] {
  if (!Array.isArray(content)) return String(content)
  return content.map((part) => ('text' in part ? String(part.text) : ''))
}

export const chatNodes: NodeType[] = [
  {
    node_type: 'chat.Complete',
    title: 'Chat completion',
    description:
      'Lets a model answer a conversation, and streams the answer piece by piece. If the model refuses to answer, the node fails. builtin/echo needs no provider: it repeats the last message.',
    properties: [
      modelProperty(),
      ...conversationProperties(),
      ...samplingProperties(),
      optionalProperty(
        'top_p',
        'float?',
        'The model chooses among the most likely tokens whose probabilities add up to this value. Without it the model decides.',
        {
          min: 0,
          max: 1,
        },
      ),
      optionalProperty('stop', 'list[str]', 'At most four texts. The answer ends before the first of them.', {
        default: [],
      }),
    ],
    outputs: [{ ...streamOutput('text', 'str'), stream_kind: 'text' }, valueOutput('usage', 'dict[str,any]')],
    gives_all: true,
    // A paid call is not repeated by itself.
    retry_safe: ({ model }) => model === ECHO_MODEL,
    repeats: true,
    needs: listConversationNeeds,
    problem: (facts) => modelProblem(facts) ?? conversationProblem(facts),
    run: (inputs, context) => complete(inputs as CompleteInputs, context),
  },
]
