// Builds the conversation that a chat node sends from system text, messages and prompt, or says why it is invalid. Pictures are in
// image-inlining.ts.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { ModelMessage } from '../../engine/node-api/services/models.ts'

const ROLES: readonly string[] = ['system', 'user', 'assistant']
const MESSAGE_KEYS: readonly string[] = ['role', 'content']
/** In characters of all messages together, which is more than any model reads. */
export const LONGEST_CONVERSATION = 4_000_000
const MOST_MESSAGES = 10_000
/** In parts of all messages together. */
const MOST_PARTS = 100_000

type UnknownMessagePart = { readonly type?: unknown; readonly text?: unknown; readonly image_url?: unknown }

/** @throws NodeError `bad_input`, `too_large` */
export function buildConversation(inputs: InputValues): ModelMessage[] {
  const problem = findProblem(inputs)
  if (problem) throw new NodeError(problem.message, problem.code === 'out_of_range' ? 'too_large' : 'bad_input')
  const { system, prompt } = inputs
  const all = readMessages(inputs).map(({ role, content }) => ({ role, content }) as ModelMessage)
  if (system !== '') all.unshift({ role: 'system', content: String(system) })
  if (prompt !== '') all.push({ role: 'user', content: String(prompt) })
  return all
}

/** The first problem that is certain whatever the edges bring: they may bring a prompt or messages, and only add to the length. */
export function conversationProblem({ data, isConnected }: NodeFacts): NodeProblem | null {
  const own: InputValues = { system: '', prompt: '', messages: [], images: [] }
  for (const name of Object.keys(own)) if (!isConnected(name)) own[name] = data[name]
  const problem = findProblem(own)
  const more = isConnected('prompt') || isConnected('messages') || isConnected('images')
  return more && problem?.code === 'missing_property' ? null : problem
}

function readMessages({ messages }: InputValues): readonly Record<string, unknown>[] {
  return (messages ?? []) as readonly Record<string, unknown>[]
}

function findProblem(inputs: InputValues): NodeProblem | null {
  const { system, prompt, images } = inputs
  const given = readMessages(inputs)
  if (given.length > MOST_MESSAGES) {
    const most = MOST_MESSAGES.toLocaleString('en')
    return tooMuchProblem('messages', `There are more than ${most} messages. Remove the oldest.`)
  }
  let parts = 0
  for (const [index, message] of given.entries()) {
    parts += Array.isArray(message.content) ? message.content.length : 0
    if (parts > MOST_PARTS)
      return tooMuchProblem(
        'messages',
        `All messages together have more than ${MOST_PARTS.toLocaleString('en')} parts.`,
      )
    const text = messageProblem(message, `Message ${index + 1}`)
    if (text !== null) return { property: 'messages', code: 'type_mismatch', message: text }
  }
  const length = given.reduce(
    (sum, { content }) => sum + contentLength(content),
    contentLength(system) + contentLength(prompt),
  )
  if (length > LONGEST_CONVERSATION) {
    const most = LONGEST_CONVERSATION.toLocaleString('en')
    return tooMuchProblem('prompt', `All messages together have more than ${most} characters. Shorten them.`)
  }
  if (given.length > 0 || prompt !== '' || (Array.isArray(images) && images.length > 0)) return null
  return {
    property: 'prompt',
    code: 'missing_property',
    message: 'There is nothing to answer. Set a prompt or messages.',
  }
}

function tooMuchProblem(property: string, message: string): NodeProblem {
  return { property, code: 'out_of_range', message }
}

/** In characters, without pictures. */
function contentLength(content: unknown): number {
  if (!Array.isArray(content)) return String(content ?? '').length
  return content.reduce((sum: number, part: UnknownMessagePart) => sum + String(part.text ?? '').length, 0)
}

function messageProblem(message: Record<string, unknown>, which: string): string | null {
  const { role, content } = message
  if (typeof role !== 'string' || !ROLES.includes(role))
    return `${which} must have one of the roles ${ROLES.join(', ')}.`
  const more = Object.keys(message).filter((key) => !MESSAGE_KEYS.includes(key)).length
  if (more > 0) return `${which} has ${more} keys besides ${MESSAGE_KEYS.join(' and ')}. Remove them.`
  if (typeof content === 'string') return null
  if (!Array.isArray(content) || content.length === 0)
    return `${which} must have a text, or a list of parts, as its content.`
  const wrong = content.findIndex((part) => !isMessagePart(part, role === 'user'))
  if (wrong < 0) return null
  const kinds = role === 'user' ? 'a text part, or an image_url part with its url' : 'a text part'
  return `Part ${wrong + 1} of message ${which.slice('Message '.length)} must be ${kinds}.`
}

function isMessagePart(part: unknown, allowsImages: boolean): boolean {
  if (typeof part !== 'object' || part === null) return false
  const { type, text, image_url } = part as UnknownMessagePart
  if (type === 'text') return typeof text === 'string'
  if (!allowsImages || type !== 'image_url' || typeof image_url !== 'object' || image_url === null) return false
  return typeof (image_url as { url?: unknown }).url === 'string'
}
