// Single changes of schemas and socket messages, and what each means.
import { isMap, type Json, type JsonMap } from '../../src/contract/json.ts'
import { type Case, cases } from './http-changes.ts'
import { at, type Change, inSchema, message, put, schema, without } from './kit.ts'

/** Requests alone refer to it. */
const ASKED = 'RunRequest'
/** Answers alone refer to it. */
const TOLD = 'RunResult'

const property = (name: string, key: string, edit: (property: JsonMap) => void): Change =>
  inSchema(name, (whole) => edit(at(whole, 'properties', key)))
const set = (name: string, key: string, more: JsonMap): Change =>
  property(name, key, (found) => void Object.assign(found, more))
const required = (name: string, key: string): Change =>
  inSchema(name, (whole) => put(whole, 'required', [...((whole.required as Json[]) ?? []), key]))
const optional = (name: string, key: string): Change =>
  inSchema(name, (whole) => put(whole, 'required', without(whole.required, key)))
const removed = (name: string, key: string): Change =>
  inSchema(name, (whole) => {
    if (!isMap(at(whole, 'properties', key))) throw new Error(key)
    delete at(whole, 'properties')[key]
    if (Array.isArray(whole.required)) whole.required = whole.required.filter((one) => one !== key)
  })
const added = (name: string, key: string, must = false): Change =>
  inSchema(name, (whole) => {
    at(whole, 'properties')[key] = { type: 'string' }
    if (must) whole.required = [...((whole.required as Json[]) ?? []), key]
  })
const values = (name: string, key: string, edit: (list: Json[]) => Json[]): Change =>
  property(name, key, (found) => put(found, 'enum', edit(found.enum as Json[])))

export const schemaCases: readonly Case[] = cases([
  ['a request has a new required property', 'breaking', 'property-added', added(ASKED, 'colour', true)],
  ['a request has a new optional property', 'additive', 'property-added', added(ASKED, 'colour')],
  ['a request loses a property', 'breaking', 'property-removed', removed(ASKED, 'background')],
  ['a property of a request is required', 'breaking', 'property-required', required(ASKED, 'background')],
  ['a property of a request is optional', 'additive', 'property-optional', optional('CreateWorkflowRequest', 'name')],
  ['a property of a request is never null', 'breaking', 'type-narrowed', set(ASKED, 'background', { type: 'boolean' })],
  [
    'a property of a request takes more types',
    'additive',
    'type-widened',
    set(ASKED, 'background', { type: ['boolean', 'string', 'null'] }),
  ],
  [
    'a property of a request takes whole numbers alone',
    'breaking',
    'type-narrowed',
    set(ASKED, 'timeout_seconds', { type: ['integer', 'null'] }),
  ],
  [
    'a bound of a request is tightened',
    'breaking',
    'bound-tightened',
    property('CreateWorkflowRequest', 'name', (found) => put(found, 'maxLength', 10)),
  ],
  [
    'a bound of a request is loosened',
    'additive',
    'bound-loosened',
    property('CreateWorkflowRequest', 'name', (found) => put(found, 'maxLength', 1000)),
  ],
  [
    'a bound of a request goes',
    'additive',
    'bound-loosened',
    property('CreateWorkflowRequest', 'name', (found) => void delete found.minLength),
  ],
  [
    'a pattern of a request is added',
    'breaking',
    'pattern-added',
    set('CreateWorkflowRequest', 'name', { pattern: '^a' }),
  ],
  [
    'a format of a request changes',
    'breaking',
    'format-changed',
    set('CreateWorkflowRequest', 'name', { format: 'uuid' }),
    set('CreateWorkflowRequest', 'name', { format: 'uri' }),
  ],
  [
    'a value of a request is taken away',
    'breaking',
    'value-removed',
    values('CreateWorkflowRequest', 'access', (list) => without(list, 'public')),
  ],
  [
    'a value of a request is added',
    'additive',
    'value-added',
    values('CreateWorkflowRequest', 'access', (list) => [...list, 'team']),
  ],
  ['a request is open', 'additive', 'opened', inSchema(ASKED, (whole) => void delete whole.additionalProperties)],
  [
    'an open request is closed',
    'breaking',
    'closed',
    inSchema('GraphEdge', (whole) => put(whole, 'additionalProperties', false)),
  ],
  [
    'items of a request are narrowed',
    'breaking',
    'bound-tightened',
    property('CreateWorkflowRequest', 'tags', (found) => put(at(found, 'items'), 'maxLength', 3)),
  ],
  [
    'items of a request may repeat',
    'additive',
    'unique',
    property('CreateWorkflowRequest', 'tags', (found) => void delete found.uniqueItems),
  ],
  [
    'a variant of a request is removed',
    'breaking',
    'variant-removed',
    inSchema('Graph', (whole) => put(at(whole, 'properties'), 'nodes', { oneOf: [{ type: 'array' }] })),
    inSchema('Graph', (whole) =>
      put(at(whole, 'properties'), 'nodes', { oneOf: [{ type: 'array' }, { type: 'object' }] }),
    ),
  ],

  ['an answer has a new property', 'additive', 'property-added', added(TOLD, 'colour', true)],
  ['an answer loses a property', 'breaking', 'property-removed', removed(TOLD, 'message_count')],
  ['a property of an answer may be missing', 'breaking', 'property-optional', optional(TOLD, 'message_count')],
  ['a property of an answer is always there', 'additive', 'property-required', required('ApiErrorDetail', 'problems')],
  [
    'a property of an answer may be null',
    'breaking',
    'type-widened',
    set(TOLD, 'message_count', { type: ['integer', 'null'] }),
  ],
  [
    'a property of an answer may be a fraction',
    'breaking',
    'type-widened',
    set(TOLD, 'message_count', { type: 'number' }),
  ],
  [
    'a property of an answer is never null',
    'additive',
    'type-narrowed',
    set('JobError', 'node_id', { type: 'string' }),
  ],
  ['a value of an answer is added', 'risky', 'value-added', values(TOLD, 'status', (list) => [...list, 'resting'])],
  ['a value of an answer goes', 'additive', 'value-removed', values(TOLD, 'status', (list) => without(list, 'queued'))],
  ['all values of an answer are others', 'breaking', 'values-replaced', values(TOLD, 'status', () => ['on', 'off'])],
  [
    'values of an answer are no longer listed',
    'risky',
    'values-opened',
    property(TOLD, 'status', (found) => void delete found.enum),
  ],
  [
    'a bound of an answer is loosened',
    'risky',
    'bound-loosened',
    property(TOLD, 'message_count', (found) => void delete found.minimum),
  ],
  ['a bound of an answer is tightened', 'additive', 'bound-tightened', set(TOLD, 'message_count', { minimum: 5 })],
  [
    'an answer may be another variant',
    'risky',
    'variant-added',
    inSchema(
      'JobSnapshot',
      (whole) => void (whole.oneOf as Json[]).push({ type: 'object', properties: { status: { const: 'resting' } } }),
    ),
  ],
  [
    'an answer is no longer one of its variants',
    'risky',
    'variant-removed',
    inSchema('JobSnapshot', (whole) => void (whole.oneOf as Json[]).pop()),
  ],
  [
    'the constant of a variant changes',
    'breaking',
    'values-replaced',
    inSchema('JobEventFrame', (whole) => put(at(whole, 'properties'), 'type', { type: 'string', const: 'event' })),
    live,
  ],
  [
    'a nullable answer is written as a union',
    'none',
    '',
    inSchema('JobError', (whole) =>
      put(at(whole, 'properties'), 'node_id', { oneOf: [{ type: 'string' }, { type: 'null' }] }),
    ),
  ],
  [
    'a schema is put together of parts',
    'none',
    '',
    inSchema('JobError', (whole) => {
      const { type: kind, properties, required: list } = whole
      for (const key of Object.keys(whole)) delete whole[key]
      whole.allOf = [
        { type: kind!, properties: properties! },
        { type: kind!, required: list! },
      ]
    }),
  ],
  [
    'texts inside schemas change',
    'none',
    '',
    inSchema(TOLD, (whole) => void Object.assign(whole, { description: 'x', title: 'y', examples: [] })),
  ],
  [
    'a keyword that nobody can compare',
    'risky',
    'keyword-changed',
    inSchema(TOLD, (whole) => put(whole, 'not', { required: ['x'] })),
  ],
  [
    'a request has a condition',
    'breaking',
    'keyword-changed',
    inSchema(ASKED, (whole) => put(whole, 'not', { required: ['background'] })),
  ],
  [
    'a request has to keep another condition',
    'breaking',
    'keyword-changed',
    inSchema(ASKED, (whole) => Object.assign(whole, { if: { required: ['params'] }, else: { required: ['name'] } })),
    inSchema(ASKED, (whole) => Object.assign(whole, { if: { required: ['params'] }, else: {} })),
  ],
  [
    'a request has no condition any more',
    'risky',
    'keyword-changed',
    inSchema(ASKED, (whole) => void delete whole.not),
    inSchema(ASKED, (whole) => put(whole, 'not', { required: ['background'] })),
  ],
  [
    'a property of a request is refused',
    'breaking',
    'keyword-changed',
    inSchema(ASKED, (whole) => put(at(whole, 'properties'), 'background', false)),
  ],
  [
    'bytes are written otherwise',
    'breaking',
    'encoding-changed',
    set('GraphEdge', 'source', { contentEncoding: 'base64' }),
  ],

  [
    'a command is removed',
    'breaking',
    'message-removed',
    ({ asyncapi }) => void delete at(asyncapi, 'channels', 'ws', 'messages').run_job,
  ],
  [
    'a frame is removed',
    'breaking',
    'message-removed',
    ({ asyncapi }) => void delete at(asyncapi, 'channels', 'ws', 'messages').node_update,
  ],
  [
    'a frame is added',
    'additive',
    'message-added',
    ({ asyncapi }) => put(at(asyncapi, 'channels', 'ws', 'messages'), 'extra', { ...message(asyncapi, 'node_update') }),
  ],
  [
    'a channel moves',
    'breaking',
    'channel-moved',
    ({ asyncapi }) => put(at(asyncapi, 'channels', 'ws'), 'address', '/socket'),
  ],
  ['a channel is removed', 'breaking', 'channel-removed', ({ asyncapi }) => void delete at(asyncapi, 'channels').ws],
  [
    'a command needs a request_id',
    'breaking',
    'request-id-changed',
    ({ asyncapi }) => put(message(asyncapi, 'run_job'), 'x-svc-request-id', 'required'),
  ],
  [
    'a command is of another kind',
    'breaking',
    'message-changed',
    ({ asyncapi }) => put(message(asyncapi, 'run_job'), 'x-svc-kind', 'rpc'),
  ],
  [
    'a command is no longer answered',
    'breaking',
    'reply-removed',
    ({ asyncapi }) => void delete at(asyncapi, 'operations', 'get_workflow').reply,
  ],
  [
    'a command is answered by another message too',
    'additive',
    'reply-added',
    ({ asyncapi }) =>
      void (at(asyncapi, 'operations', 'get_workflow', 'reply').messages as Json[]).push({
        $ref: '#/channels/ws/messages/node_update',
      }),
  ],
  ['the result of a command loses a property', 'breaking', 'property-removed', removed('Workflow', 'name')],
  [
    'the data of a command takes less',
    'breaking',
    'bound-tightened',
    ({ asyncapi }) => put(schema(asyncapi, 'RunJobData', 'properties', 'job_name'), 'maxLength', 1),
  ],
])

/** The frame as if it were served. */
function live({ asyncapi }: { readonly asyncapi: JsonMap }): void {
  message(asyncapi, 'job_event')['x-svc-implementation'] = 'implemented'
}
