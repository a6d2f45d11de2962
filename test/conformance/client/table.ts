// The broken clients: which defect makes a client fail which scenario, and why it says so. No scenario is vacuous.
import type { ScenarioId } from '../../../src/conformance/client/scenario.ts'
import type { Flaw } from './second-client/flaws.ts'

export interface Broken {
  readonly flaws: readonly Flaw[]
  readonly door?: 'http'
  /** What the verdict's reason says. */
  readonly reason: RegExp
}

/** It hangs: it would never come to an end. */
export const never = /never reported/
const events = /processed (the events|event|an event)/
const anotherKey = /another key/
const again = /submitted again/

export const broken: Readonly<Record<ScenarioId, Broken>> = {
  'request-id-unique': { flaws: ['same-request-id'], reason: /request_id was used/ },
  'second-answer-ignored': { flaws: ['latest-answer-wins'], reason: /second answer/ },
  'unmatched-answer-ignored': { flaws: ['any-answer'], reason: /reported the status/ },
  'answers-out-of-order': { flaws: ['answers-in-order'], reason: /reported the value/ },
  'unknown-frame-ignored': { flaws: ['fatal-unknown-frame'], reason: /reported|never/ },
  'unknown-fields-tolerated': { flaws: ['strict-fields'], reason: /reported|never/ },
  'other-jobs-events-apart': { flaws: ['events-of-any-job'], reason: /before the job had ended|reported/ },
  'event-names-its-job': { flaws: ['trusts-the-frame'], reason: /before the job had ended|reported/ },
  'duplicate-event': { flaws: ['keeps-duplicates'], reason: events },
  'reordered-events': { flaws: ['order-of-arrival'], reason: events },
  'unknown-event-type': { flaws: ['hands-on-unknown'], reason: events },
  'gap-not-filled': { flaws: ['passes-over-gaps'], reason: never },
  'gap-heals': { flaws: ['passes-over-gaps'], reason: events },
  'replay-expired': { flaws: ['waits-for-expired', 'waits-in-silence'], reason: never },
  'terminal-in-snapshot': { flaws: ['events-only-end'], reason: never },
  'ended-before-subscription': { flaws: ['events-only-end'], reason: never },
  'snapshot-wins': { flaws: ['last-output-wins'], reason: /reported the value/ },
  'terminal-before-answer': { flaws: ['late-answer-rules'], reason: /cancel_requested/ },
  'older-snapshot-changes-nothing': { flaws: ['older-snapshot-rules'], reason: /reported the status "running"/ },
  'terminal-is-final': { flaws: ['never-final'], reason: /reported the status "running"/ },
  'large-sequences': { flaws: ['sequences-32-bits'], reason: never },
  'suspended-not-terminal': { flaws: ['suspended-ends'], reason: /"suspended"/ },
  'recovering-not-terminal': { flaws: ['recovering-ends'], reason: /"recovering"/ },
  'queued-not-terminal': { flaws: ['queued-is-refused'], reason: /"queued"/ },
  'failed-job': { flaws: ['resubmits-failed'], reason: anotherKey },
  'cancelled-without-error': { flaws: ['reads-error'], reason: /reported the status/ },
  'lost-before-subscription-answer': { flaws: ['lost-subscription-fails'], reason: /CONNECTION_LOST/ },
  'lost-after-acknowledgement': { flaws: ['resubmits-after-loss'], reason: anotherKey },
  'lost-during-replay': { flaws: ['after-snapshot-sequence'], reason: /the client subscribes after/ },
  'lost-between-events': { flaws: ['starts-over'], reason: events },
  'lost-before-terminal': { flaws: ['loss-is-end'], reason: /reported the status/ },
  'lost-after-cancel': { flaws: ['loss-is-cancelled'], reason: /before the job had ended|reported the status/ },
  'lost-before-cancel-answer': { flaws: ['cancels-once'], reason: never },
  restart: { flaws: ['close-is-fatal'], reason: /reported the status|never/ },
  backoff: { flaws: ['no-backoff'], reason: /the client tried/ },
  'half-open': { flaws: ['waits-in-silence'], reason: never },
  'ping-answered': { flaws: ['no-pong'], reason: /neither the ping/ },
  'messagepack-first': { flaws: ['text-only'], door: 'http', reason: /reported the status|never/ },
  'text-mode': { flaws: ['acknowledgement-as-text'], reason: /reported the status|never/ },
  'answer-lost-job-stored': { flaws: ['new-key-on-retry'], reason: anotherKey },
  'answer-lost-nothing-stored': { flaws: ['new-body-on-retry'], reason: /another body/ },
  'unavailable-retried': { flaws: ['retryable-is-final'], reason: /SERVICE_UNAVAILABLE/ },
  'internal-error-retried': { flaws: ['new-key-after-internal-error'], reason: anotherKey },
  'rate-limited': { flaws: ['ignores-retry-after'], door: 'http', reason: /Retry-After/ },
  'retry-after': { flaws: ['ignores-retry-after'], door: 'http', reason: /Retry-After/ },
  'unknown-error-code': { flaws: ['list-of-codes'], reason: /SHARD_MOVED/ },
  'not-retryable-is-final': { flaws: ['every-503-again'], reason: again },
  'conflict-is-final': { flaws: ['new-key-after-conflict'], reason: again },
  'revision-conflict': { flaws: ['same-etag-again'], reason: /etag that had been refused/ },
  'preflight-failed-is-final': { flaws: ['retries-preflight-failed'], reason: again },
  'preflight-not-runnable': { flaws: ['ignores-runnable'], reason: /not runnable/ },
  'slow-answer': { flaws: ['hasty'], reason: anotherKey },
  'jobs-unavailable': { flaws: ['assumes-jobs'], reason: /profile jobs is unavailable/ },
  'run-without-key-once': { flaws: ['runs-again'], reason: /sent again, though it has no key/ },
  'job-not-found': { flaws: ['asks-without-end'], reason: /more than 4 times/ },
  'job-expired': { flaws: ['expired-is-not-found'], reason: /JOB_NOT_FOUND/ },
  'cancel-not-terminal': { flaws: ['acknowledgement-is-end'], reason: /cancel_requested/ },
  'cancel-overtaken': { flaws: ['accepted-is-cancelled'], reason: /"cancelled"/ },
  'cancel-at-once': { flaws: ['waits-after-cancelled', 'waits-in-silence'], reason: never },
  'cancel-after-end': { flaws: ['cancel-means-cancelled'], reason: /"cancelled"/ },
  'token-renewed': { flaws: ['one-token', 'no-backoff'], reason: /token that had been refused/ },
  'token-refused': { flaws: ['tries-refused-token', 'no-backoff'], reason: /token that had been refused/ },
  'answer-cut-off': { flaws: ['half-answer-is-final'], door: 'http', reason: /BROKEN_ANSWER/ },
  'odd-identifiers': { flaws: ['paths-as-they-are'], reason: /requested an unknown path/ },
  'timestamps-are-instants': { flaws: ['compares-text'], reason: /reported the value/ },
  upload: { flaws: ['unescaped-name'], reason: /name arrived|not one part/ },
  'upload-too-large': { flaws: ['uploads-again'], reason: /sent again/ },
}
