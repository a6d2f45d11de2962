// chat.Complete: a conversation with a model. Which models there are, and what they cost, is the business of the host's providers.

import type { ModelMessage } from '../../engine/node-api/node-services.ts'
import {
  type NodeContext,
  NodeError,
  type NodeFacts,
  type NodeNeed,
  type NodeProperty,
  type NodeType,
  type OutputValues,
} from '../../engine/node-api/node-type.ts'
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

/** What is sent with it, once it is known. */
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
    throw new NodeError(`At most ${MOST_STOP_TEXTS} texts can end an answer.`, 'bad_input')
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
    // Whoever wants no more of it ends the call.
    await pieces.return(null)
  }
}

/** The properties of whatever is sent. */
export const conversationProperties = (): NodeProperty[] => [
  optionalProperty('system', 'str', 'What the model is told before the conversation.', { default: '' }),
  optionalProperty('prompt', 'str', 'What the user says last.', { default: '' }),
  optionalProperty(
    'messages',
    'list[dict[str,any]]',
    'The conversation before the prompt: objects with a role (system, user or assistant) and a content, which is a text or a list of text parts, and of image_url parts of a user.',
    { default: [] },
  ),
  optionalProperty(
    'images',
    'list[any]',
    'Pictures that go with the prompt: bytes, addresses (http, data:, asset:// or /api/storage/), or objects that have one as their uri.',
    { default: [] },
  ),
]

/** The call of a conversation. How many tokens a picture takes nobody knows before. */
export function listConversationNeeds(facts: NodeFacts): NodeNeed[] {
  return [
    modelNeed(facts, CONVERSATION_PROPERTY_NAMES.some(facts.isConnected) ? null : joinPromptText(facts.data)),
    ...listImageNeeds(facts),
  ]
}

function joinPromptText(data: NodeFacts['data']): string | null {
  try {
    const messages = buildConversation(data)
    if (messages.some(hasImages) || (Array.isArray(data.images) && data.images.length > 0)) return null
    return messages.map(readMessageText).join('\n')
  } catch {
    // The firing will say what is wrong with it.
    return null
  }
}

function readMessageText({ content }: ModelMessage): string {
  if (!Array.isArray(content)) return String(content)
  return content.map((part) => ('text' in part ? String(part.text) : '')).join('\n')
}

export const chatNodes: NodeType[] = [
  {
    node_type: 'chat.Complete',
    title: 'Chat completion',
    description:
      'Has a model answer a conversation, and streams the answer piece by piece. A model that declines fails the node. builtin/echo needs no provider: it says the last message again.',
    properties: [
      modelProperty(),
      ...conversationProperties(),
      ...samplingProperties(),
      optionalProperty(
        'top_p',
        'float?',
        'Of how much of what is likely the model chooses. Without it the model decides.',
        {
          min: 0,
          max: 1,
        },
      ),
      optionalProperty('stop', 'list[str]', 'Texts that end the answer and are no part of it, at most four.', {
        default: [],
      }),
    ],
    outputs: [{ ...streamOutput('text', 'str'), stream_kind: 'text' }, valueOutput('usage', 'dict[str,any]')],
    gives_all: true,
    // What was paid for once is not asked for again by itself.
    retry_safe: ({ model }) => model === ECHO_MODEL,
    repeats: true,
    needs: listConversationNeeds,
    problem: (facts) => modelProblem(facts) ?? conversationProblem(facts),
    run: (inputs, context) => complete(inputs as CompleteInputs, context),
  },
]
