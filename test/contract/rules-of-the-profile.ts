// Every rule of the lifecycle profile, of its records, states, events and identifiers that shows on the wire, in our own words and in the
// order of the documents, each with the requirements that restate it. A rule without one fails the gate.
import type { ClientRequirementId, ServerRequirementId } from '../../generated/requirements.ts'

type Ids = readonly (ServerRequirementId | ClientRequirementId)[]
type Chapter = Readonly<Record<string, Ids>>

const identifiers: Chapter = {
  "request_id is the client's, not empty, and belongs to one command": [
    'client.request-id-unique',
    'server.socket.one-reply',
  ],
  'one command, exactly one rpc_response': ['server.socket.one-reply', 'client.second-answer-ignored'],
  'answers are matched by request_id alone': ['client.answers-out-of-order', 'client.unmatched-answer-ignored'],
  'client_request_id is echoed by the acknowledgement': [
    'server.submission.acknowledged',
    'server.submission.duplicate',
  ],
  'idempotency_key names one submission of user and workspace': [
    'server.submission.duplicate',
    'server.submission.same-over-socket',
  ],
  'ids are opaque texts': ['client.odd-identifiers', 'server.states.not-found'],
  'ids keep within their lengths': ['server.http.out-of-bounds'],
  'timestamps are RFC 3339 with an offset, and in UTC': ['server.records.timestamps'],
  'clients compare instants': ['client.timestamps-are-instants'],
  'sequences are positive, of one job, without gaps': ['server.events.gapless', 'client.large-sequences'],
  'sequence 0 means that nothing is persisted': ['server.events.subscription-range'],
}

const records: Chapter = {
  'a snapshot has state, times, last sequence and preflight': [
    'server.http.response-bodies',
    'server.events.last-sequence',
    'server.states.active-sequence',
    'server.states.preflight-kept',
    'server.states.identity',
  ],
  'a completed snapshot has a result': ['server.states.result-when-completed'],
  'a snapshot that is not terminal has no result': ['server.states.result-when-completed'],
  'a failed snapshot has an error': ['server.states.error-when-failed', 'client.failed-job'],
  'a cancelled snapshot may have no error': ['client.cancelled-without-error'],
  'a queued snapshot has a position': ['server.states.queue-position', 'server.states.queue-order'],
  'a suspended snapshot says what it waits for': ['server.states.waiting'],
  'a preflight lists issues': [
    'server.preflight.graph-issues',
    'server.preflight.unknown-input',
    'server.preflight.missing-input',
  ],
  'a preflight lists requirements, blocking or not': ['server.preflight.availability', 'server.preflight.assets'],
  'a preflight tells the cost with its confidence': ['server.http.response-bodies', 'server.preflight.cost'],
  'issues tell where they are': ['server.preflight.issue-places'],
  'a manifest has JSON-safe outputs and every asset with its place': [
    'server.results.manifest',
    'server.results.outputs',
  ],
  'an asset reference has id, uri, type and optional size, digest, address': ['server.results.asset-references'],
  'large media travels by reference': ['server.results.large-media'],
  'the cost is what was called': ['server.results.cost'],
  'an upload has a time to live': ['server.uploads.expiry'],
  'the server tells its time': ['server.capabilities.server-time'],
  'provenance tells inputs, revision, providers, models, seed, cost': ['server.results.provenance'],
  'provenance has no credentials and no secrets': ['server.records.secrets-redacted'],
  'temporary_asset_upload is advertised': ['server.capabilities.record', 'server.claims.core-claimed'],
  'limits are the ones that are enforced': [
    'server.capabilities.batch-limit',
    'server.capabilities.limits',
    'server.uploads.size-limit',
  ],
  'profiles are what is served': ['server.claims.profiles-true'],
  'capabilities have protocol version 1': ['server.capabilities.record'],
  'jobs are advertised where they are served': ['server.claims.jobs-announced', 'client.jobs-unavailable'],
  'times of a snapshot are in order': ['server.results.times', 'server.states.times'],
}

const states: Chapter = {
  'the states and which are terminal': ['server.states.legal-transitions', 'client.suspended-not-terminal'],
  'recovering and queued are not terminal': ['client.recovering-not-terminal', 'client.queued-not-terminal'],
  'accepted is persisted before anything runs': ['server.submission.acknowledged'],
  'a queued job may be cancelled at once': ['server.states.cancel-queued', 'client.cancel-at-once'],
  'active work becomes cancel_requested': ['server.states.cancel-active'],
  'cancellation of an ended job answers its snapshot': ['server.states.cancel-terminal', 'client.cancel-after-end'],
  'a provider may finish before a cancellation': ['client.cancel-overtaken'],
  'completed is never seen before its manifest': ['server.states.result-when-completed', 'server.events.terminal-last'],
  'terminal states never change': ['server.states.terminal-immutable', 'client.terminal-is-final'],
  'cancellation is idempotent': ['server.states.cancel-idempotent'],
  'an acknowledged cancellation is terminal only as cancelled': [
    'server.states.acknowledged-cancel',
    'client.cancel-not-terminal',
  ],
  'the same key and an equivalent request give the original job': [
    'server.submission.duplicate',
    'server.submission.normalised',
  ],
  'the same key and another request conflict': ['server.submission.conflict', 'client.conflict-is-final'],
}

const operations: Chapter = {
  'capabilities over HTTP and socket are the same': ['server.capabilities.same-over-socket'],
  'preflight over HTTP and socket is the same': ['server.preflight.same-over-socket'],
  'both have the same principal': ['server.access.same-principal'],
  'an upload gives a uri that can be resolved': ['server.uploads.resolvable', 'client.upload'],
  'an upload leaves no row': ['server.uploads.no-trace'],
  'an upload is a form with one file': ['server.uploads.bad-parts', 'server.uploads.content-type'],
  'a preflight has no side effect': ['server.preflight.no-trace'],
  'a preflight checks the graph': ['server.preflight.graph-issues', 'server.preflight.runnable'],
  'a preflight checks the etag': ['server.preflight.etag'],
  'a preflight checks inputs by the interface': ['server.preflight.input-type', 'server.preflight.input-limits'],
  'runnable is decided conservatively': ['server.preflight.runnable-follows-issues', 'server.preflight.availability'],
  'assets are found in nested references': ['server.preflight.assets'],
  'targets are explicit, without fallback': ['server.preflight.targets'],
  'a submission needs a passing preflight': ['server.submission.preflight-failed', 'client.preflight-failed-is-final'],
  'a submission needs the etag': ['server.submission.etag', 'client.revision-conflict'],
  'a submission is persisted before it is acknowledged': [
    'server.submission.acknowledged',
    'client.answer-lost-job-stored',
  ],
  'two equal submissions at once make one job': ['server.submission.one-of-two'],
  'the key is looked up before etag, preflight and capacity': ['server.submission.key-first'],
  'without concurrent a job waits behind another of its workflow': ['server.submission.queued'],
  'planned operations are no endpoints': [
    'server.claims.planned-operations-absent',
    'server.claims.planned-commands-absent',
  ],
  'implemented operations are on': ['server.claims.core-claimed'],
  'documents mark what is planned': ['server.claims.contract-places'],
  'summaries are listed by pages': ['server.discovery.summaries'],
  'interfaces come in the order asked, with errors beside them': [
    'server.discovery.interfaces',
    'server.discovery.interface-etag',
  ],
  'the inventory of types is counted and paged': ['server.discovery.node-types'],
  'discovery over HTTP and socket is the same': ['server.discovery.same-over-socket'],
}

const events: Chapter = {
  'every event has job, workflow, workspace, time and sequence': [
    'server.events.common-fields',
    'server.events.frame-ids',
    'client.other-jobs-events-apart',
    'client.event-names-its-job',
  ],
  'every event is of the contract': ['server.events.schema'],
  'a subscription begins with a snapshot': ['server.events.subscription-range', 'client.terminal-in-snapshot'],
  'then comes what is retained, then what is live': [
    'server.events.replay-after-every-sequence',
    'server.events.live-is-replay',
  ],
  'nothing is lost or doubled between them': ['server.events.gapless', 'server.events.same-through-every-door'],
  'clients discard duplicates': ['client.duplicate-event'],
  'clients keep the order of sequences': ['client.reordered-events'],
  'clients skip unknown types': ['client.unknown-event-type'],
  'clients take a snapshot where replay has expired': ['client.replay-expired', 'server.events.replay-expired'],
  'clients take a snapshot where a gap cannot be filled': ['client.gap-not-filled', 'client.gap-heals'],
  'the snapshot is authoritative': [
    'client.snapshot-wins',
    'client.older-snapshot-changes-nothing',
    'server.events.states-agree',
  ],
  'a reconnect gives the current snapshot and the range': [
    'client.lost-between-events',
    'server.events.active-subscription',
    'server.events.subscription-range',
  ],
  'a reconnect to an ended job gives its snapshot': [
    'client.ended-before-subscription',
    'server.events.subscription-range',
  ],
  "the terminal event is the last, with the job's snapshot": ['server.events.terminal-last'],
  'nodes are told once per status': ['server.events.node-statuses', 'server.events.node-records'],
  'outputs among the events are those of the result': ['server.events.output-updates'],
  'a sequence that is ahead is refused': ['server.events.sequence-ahead'],
  'server-sent events have ids, and end': ['server.events.sse-form'],
  'an unknown job has no events': ['server.events.unknown-job'],
}

const errors: Chapter = {
  'each door has its form': ['server.errors.api-form', 'server.errors.sdk-form', 'server.errors.openai-form'],
  'codes are of the catalogue': ['server.errors.catalogue', 'server.socket.rpc-errors', 'client.unknown-error-code'],
  'a refused caller gets a text': [
    'server.access.before-routing',
    'server.access.confined-token',
    'client.token-refused',
  ],
  'a refused upgrade has no body': ['server.access.refused-upgrade'],
  'errors of the server tell no cause': ['server.errors.no-cause'],
  'missing and foreign jobs are the same not-found': [
    'server.states.not-found',
    'server.access.others-jobs',
    'client.job-not-found',
  ],
  'expired jobs have a code of their own': ['client.job-expired', 'server.states.expired'],
  'missing and foreign workflows are the same not-found': ['server.preflight.not-found', 'server.submission.not-found'],
  'every problem is listed': ['server.http.all-problems'],
  'X-Request-Id is echoed or made': ['server.http.request-id-echoed', 'server.http.request-id-generated'],
  'checks come in their order': ['server.http.order-of-checks'],
  'what may be tried again says so': [
    'client.unavailable-retried',
    'client.rate-limited',
    'client.not-retryable-is-final',
  ],
  'an upload that is too large is refused': ['client.upload-too-large'],
}

const encoding: Chapter = {
  'unknown properties of requests are refused': ['server.http.unknown-property', 'server.socket.rpc-invalid-data'],
  'answers may have more than is known': ['client.unknown-fields-tolerated', 'client.unknown-frame-ignored'],
  'a null for what is optional is as if it were absent': [
    'server.http.null-means-absent',
    'server.submission.normalised',
  ],
  'JSON may say that it is UTF-8': ['server.http.charset'],
  'null is refused elsewhere': ['server.http.null-refused'],
  'lists are never null, keys are present': ['server.http.response-bodies'],
  'MessagePack has no extensions': ['server.socket.plain-messagepack'],
  'MessagePack comes first, without negotiation': ['server.socket.messagepack-first', 'client.messagepack-first'],
  'the acknowledgement of set_mode has the old mode': ['server.socket.set-mode', 'client.text-mode'],
  'both encodings are taken at any time': ['server.socket.both-encodings-in', 'server.capabilities.encodings'],
  'frames with a type and no command are ignored': ['server.socket.unknown-type-ignored'],
  'undecodable frames and maps without a command are told of': [
    'server.socket.undecodable',
    'server.socket.no-command',
  ],
  'unknown commands are told of': ['server.socket.unknown-command'],
  'bad input closes nothing': ['server.socket.stays-open'],
}

/** By chapter. */
export const RULES = { identifiers, records, states, operations, events, errors, encoding } as const
