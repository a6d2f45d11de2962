// A publication whose parts say different things is refused: whoever generates from one of them would get another contract than is compared.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonMap } from '../../src/contract/json.ts'
import { findContradictions } from '../../src/contract/publication-consistency.ts'
import type { ContractPublication } from '../../src/contract/publication-files.ts'
import { at, put, real, without } from './kit.ts'

type Edit = (file: JsonMap) => void

/** The real publication with one file edited. */
function edited(name: string, edit: Edit): ContractPublication {
  const file = structuredClone(real.json(name))
  edit(file)
  return { ...real, json: (other) => (other === name ? file : real.json(other)) }
}

const record = (manifest: JsonMap, list: string, key: string, value: string): JsonMap =>
  (manifest[list] as JsonMap[]).find((one) => one[key] === value)!

const PREFLIGHT = '/api/sdk/v1/preflight'

const cases: readonly [title: string, file: string, edit: Edit, said: RegExp][] = [
  ['another version in a document', 'asyncapi.json', (file) => put(at(file, 'info'), 'version', '9.0.0'), /9\.0\.0/],
  ['another version in the manifest', 'operations.json', (file) => put(file, 'contract_version', '9.0.0'), /9\.0\.0/],
  ['another version of the package', 'package.json', (file) => put(file, 'version', '9.0.0'), /9\.0\.0/],
  [
    'a schema file that requires more',
    'PreflightRequest.json',
    (file) => put(file, 'required', [...(file.required as string[]), 'inputs']),
    /^PreflightRequest\.json is not the schema PreflightRequest of openapi\.json/,
  ],
  [
    'a schema file that takes anything',
    'JobEvent.json',
    (file) => {
      for (const key of Object.keys(file)) if (!key.startsWith('$')) delete file[key]
    },
    /^JobEvent\.json is not the schema JobEvent of /,
  ],
  [
    'a schema file with other words',
    'Capabilities.json',
    (file) => put(file, 'description', 'Something else.'),
    /^Capabilities\.json is not the schema/,
  ],
  ['a schema file with another address', 'JobEvent.json', (file) => put(file, '$id', '/x.json'), /has the wrong \$id/],
  [
    'a schema that is only in the documents of sockets',
    'SubscribeJobCommand.json',
    (file) => put(file, 'required', ['command']),
    /^SubscribeJobCommand\.json is not the schema SubscribeJobCommand of asyncapi\.json/,
  ],
  [
    'a document whose schema was changed alone',
    'openapi.json',
    (file) => put(at(file, 'components', 'schemas', 'ProfileState'), 'enum', ['available']),
    /ProfileState/,
  ],
  [
    'an operation that the manifest lacks',
    'operations.json',
    (file) => put(file, 'operations', without(file.operations, record(file, 'operations', 'operationId', 'getHealth'))),
    /^the operations of operations\.json differ from those of its documents, at getHealth$/,
  ],
  [
    'an operation that only the manifest has',
    'operations.json',
    (file) => put(record(file, 'operations', 'operationId', 'getHealth'), 'operationId', 'getNothing'),
    /getHealth/,
  ],
  [
    'an operation with another status in the manifest',
    'operations.json',
    (file) => put(record(file, 'operations', 'operationId', 'getHealth'), 'status', 'planned'),
    /getHealth/,
  ],
  [
    'an operation with another reply in the manifest',
    'operations.json',
    (file) => put(record(file, 'operations', 'operationId', 'getHealth'), 'responses', []),
    /getHealth/,
  ],
  [
    'a command with another schema in the manifest',
    'operations.json',
    (file) => put(record(file, 'commands', 'command', 'run_job'), 'request', 'PingFrame'),
    /^the commands of operations\.json .* ws run_job$/,
  ],
  [
    'a frame that the manifest lacks',
    'operations.json',
    (file) => put(file, 'frames', without(file.frames, record(file, 'frames', 'frame', 'node_progress'))),
    /^the frames of operations\.json .* ws node_progress$/,
  ],
  [
    'an event of another schema in the manifest',
    'operations.json',
    (file) => put(record(file, 'events', 'type', 'job_status'), 'schema', 'JobEvent'),
    /^the events of operations\.json .* job_status$/,
  ],
  [
    'an operation that is missing where only the implemented ones are',
    'openapi.implemented.json',
    (file) => {
      delete at(file, 'paths')[PREFLIGHT]
    },
    /^openapi\.implemented\.json differs from the implemented parts of openapi\.json, at POST \/api\/sdk\/v1\/preflight$/,
  ],
  [
    'an operation that differs where only the implemented ones are',
    'openapi.implemented.json',
    (file) => put(at(file, 'paths', PREFLIGHT, 'post'), 'security', []),
    /preflight/,
  ],
  [
    'a planned operation among the implemented ones',
    'openapi.json',
    (file) => put(at(file, 'paths', PREFLIGHT, 'post'), 'x-svc-implementation', 'planned'),
    /^openapi\.implemented\.json .*preflight$/m,
  ],
  [
    'a schema that differs where only the implemented ones are',
    'asyncapi.implemented.json',
    (file) => put(at(file, 'components', 'schemas', 'RunJobCommand'), 'required', []),
    /^asyncapi\.implemented\.json .* components schemas RunJobCommand$/,
  ],
  [
    'a reference that leads nowhere there',
    'asyncapi.implemented.json',
    (file) => {
      delete at(file, 'components', 'schemas').RunJobCommand
    },
    /^asyncapi\.implemented\.json .*#\/components\/schemas\/RunJobCommand$/,
  ],
  [
    'a message that is missing there',
    'asyncapi.implemented.json',
    (file) => {
      delete at(file, 'channels', 'ws', 'messages').run_job
    },
    /^asyncapi\.implemented\.json .* channel ws message run_job$/m,
  ],
]

describe('the parts of a publication', () => {
  test('agree', () => {
    assert.deepEqual(findContradictions(real), [])
  })

  for (const [title, file, edit, said] of cases)
    test(`do not with ${title}`, () => {
      const found = findContradictions(edited(file, edit))
      assert.ok(
        found.some((one) => said.test(one)),
        found.join('\n'),
      )
    })

  test('do not where a schema refers to a file that is missing', () => {
    const names = without([...real.names], 'JobStatus.json') as string[]
    assert.deepEqual(findContradictions({ ...real, names }), [
      'CancelJobResponse.json refers to JobStatus.json, which is missing',
    ])
  })
})
