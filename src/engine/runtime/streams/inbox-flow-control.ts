// Moves tokens into and out of an inbox: respects its limit, and drops tokens that no consumer wants.
import type { RunMemoryAccount } from '../run/memory-account.ts'
import type { Inbox } from './inbox.ts'
import { StreamEndToken } from './tokens.ts'

/** Pauses and resumes the producers of inboxes. */
interface ProducerControl {
  /** An inbox reached its limit, or fell below it again. */
  filled(inbox: Inbox): void
  freed(inbox: Inbox): void
}

/** The edges of a run, as seen by its inboxes. */
export interface InboxHost {
  /** The number of tokens in an inbox before its producer pauses. */
  readonly inboxLimit: number
  /** The limit of their approximate characters. */
  readonly inboxWeight: number
  /** The memory account of the run. */
  readonly memoryAccount: RunMemoryAccount
  readonly producers: ProducerControl
  /** An inbox starts or stops dropping tokens. */
  onUnsubscribed(inbox: Inbox): void
  onResubscribed(inbox: Inbox): void
  /** A token was sent along an edge. `inbox` is null for an edge with a single value. */
  onTokenSent(edge_id: string, inbox: Inbox | null, token: unknown): void
}

/** Adds a token. Returns the number of waiting tokens; 0 if it was dropped. */
export function acceptToken(host: InboxHost, inbox: Inbox, token: unknown): number {
  if (inbox.unsubscribedLevel > 0) {
    if (!(token instanceof StreamEndToken) || token.level > inbox.unsubscribedLevel) return 0
    inbox.unsubscribedLevel = 0
    host.onResubscribed(inbox)
  }
  host.onTokenSent(inbox.slot.edge_id, inbox, token)
  const size = inbox.push(token)
  if (!inbox.isProducerPaused && inbox.isFull) {
    inbox.isProducerPaused = true
    host.producers.filled(inbox)
  }
  return size
}

/** Removes the first token. */
export function takeToken(host: InboxHost, inbox: Inbox): unknown {
  const token = inbox.shift()
  if (inbox.isProducerPaused) resumeProducer(host.producers, inbox)
  return token
}

/** Lets the producer continue if there is room again. */
export function resumeProducer(producers: Pick<ProducerControl, 'freed'>, inbox: Inbox): void {
  if (inbox.isFull) return
  inbox.isProducerPaused = false
  producers.freed(inbox)
}

/** Drops waiting and arriving tokens up to the end of the stream of a level. */
export function unsubscribe(host: InboxHost, inbox: Inbox, level: number): void {
  const hasEnded = inbox.purge(level)
  if (inbox.isProducerPaused) resumeProducer(host.producers, inbox)
  if (hasEnded || (inbox.unsubscribedLevel > 0 && inbox.unsubscribedLevel <= level)) return
  const wasUnsubscribed = inbox.unsubscribedLevel > 0
  inbox.unsubscribedLevel = level
  if (!wasUnsubscribed) host.onUnsubscribed(inbox)
}
