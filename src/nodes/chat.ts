// chat.Complete: a conversation with a model. Which models there are, and what they cost, is the business of the host's providers.
import {
  type NodeContext,
  NodeError,
  type NodeFacts,
  type NodeNeed,
  type NodeProperty,
  type NodeType,
  type Outputs,
} from '../engine/node-type.ts'
import type { ModelMessage } from '../engine/services.ts'
import {
  answerPieces,
  bodyOf,
  ECHO,
  modelNeed,
  modelProblem,
  modelProperty,
  type Sampling,
  samplingProperties,
  usageOf,
} from './chat-calls.ts'
import { hasPictures, illustrated, imageNeeds } from './chat-images.ts'
import { conversation, conversationProblem } from './chat-messages.ts'
import { option, output, stream } from './define.ts'

/** What is sent with it, once it is known. */
const SENT = ['system', 'messages', 'prompt', 'images'] as const

const MOST_STOPS = 4

interface CompleteInputs extends Sampling {
  top_p: number | null
  stop: string[]
}

async function* complete(inputs: CompleteInputs, context: NodeContext): AsyncGenerator<Outputs, Outputs, unknown> {
  const { services, signal } = context
  const { top_p, stop } = inputs
  if (stop.length > MOST_STOPS) throw new NodeError(`At most ${MOST_STOPS} texts can end an answer.`, 'bad_input')
  const messages = await illustrated(conversation(inputs), inputs, context)
  const body = bodyOf(inputs, messages, { top_p, stop: stop.length > 0 ? stop : null })
  const chunk: NodeContext['chunk'] = (content, options) => context.chunk(content, options)
  const pieces = answerPieces(body, { services, chunk }, signal)
  try {
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) {
        chunk('', { done: true })
        return value ? { usage: usageOf(value.use, { finish_reason: value.finish_reason }) } : {}
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
  option('system', 'str', 'What the model is told before the conversation.', { default: '' }),
  option('prompt', 'str', 'What the user says last.', { default: '' }),
  option(
    'messages',
    'list[dict[str,any]]',
    'The conversation before the prompt: objects with a role (system, user or assistant) and a content, which is a text or a list of text parts, and of image_url parts of a user.',
    { default: [] },
  ),
  option(
    'images',
    'list[any]',
    'Pictures that go with the prompt: bytes, addresses (http, data:, asset:// or /api/storage/), or objects that have one as their uri.',
    { default: [] },
  ),
]

/** The call of a conversation. How many tokens a picture takes nobody knows before. */
export function conversationNeeds(facts: NodeFacts): NodeNeed[] {
  return [modelNeed(facts, SENT.some(facts.isConnected) ? null : sentBy(facts.data)), ...imageNeeds(facts)]
}

function sentBy(data: NodeFacts['data']): string | null {
  try {
    const messages = conversation(data)
    if (messages.some(hasPictures) || (Array.isArray(data.images) && data.images.length > 0)) return null
    return messages.map(wordsOf).join('\n')
  } catch {
    // The firing will say what is wrong with it.
    return null
  }
}

function wordsOf({ content }: ModelMessage): string {
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
      option('top_p', 'float?', 'Of how much of what is likely the model chooses. Without it the model decides.', {
        min: 0,
        max: 1,
      }),
      option('stop', 'list[str]', 'Texts that end the answer and are no part of it, at most four.', { default: [] }),
    ],
    outputs: [{ ...stream('text', 'str'), stream_kind: 'text' }, output('usage', 'dict[str,any]')],
    gives_all: true,
    // What was paid for once is not asked for again by itself.
    retry_safe: ({ model }) => model === ECHO,
    repeats: true,
    needs: conversationNeeds,
    problem: (facts) => modelProblem(facts) ?? conversationProblem(facts),
    run: (inputs, context) => complete(inputs as CompleteInputs, context),
  },
]
