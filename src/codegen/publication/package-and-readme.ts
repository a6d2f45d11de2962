// The publication's package: its manifest and its README for external users.
import type { CodegenConfig } from '../../../codegen.config.ts'
import type { JsonMap } from '../documents/json-pointer.ts'

type PublicationConfig = CodegenConfig['publication']

/** `package.json`: only data and types, without dependencies and code. */
export function createPackageManifest(publication: PublicationConfig, version: string): JsonMap {
  return {
    name: publication.package,
    version,
    description: 'The contract of the lifecycle profile, version 1: schemas, documents, types and golden examples.',
    license: 'MIT',
    type: 'module',
    sideEffects: false,
    types: './types.d.ts',
    exports: {
      '.': { types: './types.d.ts', default: `./${publication.index}` },
      './*': './*',
    },
  }
}

/** `README.md`. */
export function createReadme({ package: name, base, index }: PublicationConfig, version: string): string {
  return `# The lifecycle profile, version 1

Everything that a client or a server of the lifecycle profile has to keep to, and nothing that runs. The contract is version ${version}.

| File | Holds |
|---|---|
| \`<Schema>.json\` | one schema in JSON Schema draft 2020-12; its \`$id\` is \`${base}<Schema>.json\`, and it refers to files beside it |
| \`<Schema>.<example>.example.json\` | an instance of that schema |
| \`<Schema>.<example>.example.hex\` | the same in MessagePack, as it goes over the socket: keys sorted, numbers in their shortest form |
| \`openapi.json\`, \`asyncapi.json\` | the whole service over HTTP (OpenAPI 3.1) and over its sockets (AsyncAPI 3.0) |
| \`openapi.implemented.json\`, \`asyncapi.implemented.json\` | the same without what is planned |
| \`operations.json\` | every operation, command, frame and event, with its status and the names of its schemas |
| \`errors.json\` | every error code, with its HTTP status and whether a retry may help |
| \`requirements.json\` | the rules that conformance is judged by, each with a stable id |
| \`conformance.md\` | how a server or a client is certified by them |
| \`types.d.ts\` | TypeScript types of the schemas |
| \`LICENSE\` | on which terms all of this may be used |
| \`${index}\` | every file with its SHA-256, and one digest over all |

A running server gives the same files under \`/api/sdk/v1/schemas/\`, and the schemas to everybody under \`${base}\`.

## Generate a client

The documents go into generators as they are: their schemas have a form that generators take. Where that form says less than what holds, the exact
schema stands beside it as \`x-svc-rule\`: replace each schema that has one by it before you judge by the documents. The schemas in files of their own are exact.

TypeScript types of the HTTP operations that are implemented:

\`\`\`sh
npx openapi-typescript openapi.implemented.json --output service.d.ts
\`\`\`

A Python client:

\`\`\`sh
openapi-python-client generate --path openapi.implemented.json
\`\`\`

## Read the files

The package's default export is its index, and every file has its own path; programs in JavaScript import both as JSON:

\`\`\`mjs
import index from '${name}' with { type: 'json' }
import snapshot from '${name}/JobSnapshot.json' with { type: 'json' }

console.log(index.contract_version, index.files.length, snapshot.$id)
\`\`\`

## Use the types

\`\`\`ts
import type { JobSnapshot, SubmitJobRequest } from '${name}'

const request: SubmitJobRequest = {
  client_request_id: 'attempt-1',
  idempotency_key: 'greeting-for-ada',
  workflow_id: 'wf_greeting',
  workflow_etag: 'etag of the interface',
  interface_version: 1,
  inputs: { name: 'Ada' },
}
export const isOver = ({ status }: JobSnapshot) => ['completed', 'failed', 'cancelled'].includes(status)
export { request }
\`\`\`

## Validate

Add all schemas, then ask for one. With ajv and ajv-formats, in this folder:

\`\`\`js
import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const read = (name) => JSON.parse(readFileSync(name, 'utf8'))
const ajv = new Ajv2020({ allowUnionTypes: true })
formats.default(ajv)
for (const name of readdirSync('.').filter((name) => /^[A-Z]\\w+\\.json$/.test(name))) ajv.addSchema(read(name))
const validate = ajv.getSchema('${base}JobEvent.json')
console.log(validate({ sequence: 1, type: 'job_status' }) ? 'valid' : 'not valid')
\`\`\`

In Python, with jsonschema, in this folder:

\`\`\`python
import json
from pathlib import Path
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

schemas = [json.loads(path.read_text()) for path in Path('.').glob('[A-Z]*.json') if path.name.count('.') == 1]
registry = Registry().with_resources([(schema['$id'], Resource.from_contents(schema)) for schema in schemas])
validator = Draft202012Validator({'$ref': '${base}JobEvent.json'}, registry=registry)
print('valid' if validator.is_valid({'sequence': 1, 'type': 'job_status'}) else 'not valid')
\`\`\`

## Run a workflow

A server listens on \`http://127.0.0.1:7777\` unless it was told otherwise. Where it asks for a token, send \`Authorization: Bearer TOKEN\`.

\`\`\`sh
curl -s http://127.0.0.1:7777/api/workflows/greeting/run -H 'Content-Type: application/json' -d '{"params": {"name": "Ada"}}'
\`\`\`

\`greeting\` comes with the service; \`GET /api/workflows/examples\` lists the others. \`GET /api/sdk/v1/capabilities\` tells what the server has: where the profile \`jobs\` is \`available\`, runs are submitted with \`submit_job\` and followed with
\`subscribe_job\`. What \`operations.json\` calls \`planned\` is declared and not served; with \`preview\` it is served where the operator says so. All operations and commands of jobs are \`planned\` with \`preview\`:
a client that is generated from the implemented documents alone lacks them, and cannot be certified. Generate it from \`openapi.json\`, and start a server with \`SVC_ENABLE_SDK_LIFECYCLE_PREVIEW=1\`.

## Certify

The service's own command \`svc\` judges servers and clients, in whatever language they are written, by what they do on the wire. It comes with the service: in a copy of its sources \`make install\`
once, then \`npx svc\` there. Each finding names a rule of \`requirements.json\`. Where a server does not
claim what a rule is about, or \`--other-token\`, \`--expired-job\` or \`--swept-job\` is missing for it, the rule is told as \`skip\`, and certifies nothing.

\`\`\`sh
svc conformance server --url http://127.0.0.1:7777 --profile lifecycle
svc conformance client --exec 'python my_driver.py'
\`\`\`

For a client you write a driver: a program that does one task with your client and ends. The suite is a server that misbehaves in a different way in each scenario. It starts the driver once for each, with its address in \`SVC_URL\`, a token in
\`SVC_TOKEN\` and the task in \`SVC_TASK\`, as JSON: one of a few kinds, such as to run a workflow, to cancel it or to upload a file, and \`in_words\` says what to do. The driver reports by one more
submission, of the workflow \`report_workflow_id\`. \`conformance.md\` tells all of it, with a first driver that passes.

## Compare two versions

\`\`\`sh
svc contract diff OLD NEW
\`\`\`

OLD and NEW are folders, archives or index files of this publication. It ends with 0 where NEW only adds, 2 where something is risky, and 3
where something breaks. The parts of each must agree: where a schema file, the manifest, an implemented document or a version contradicts the documents, as where nothing can be read or the command is
used wrongly, it ends with 64 and compares nothing.
`
}
