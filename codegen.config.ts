// What the generator reads and writes, and the rules that the contract keeps: data only.
export const config = {
  spec: 'spec',
  generated: 'generated',
  /** The root of each document, and the file that it becomes. */
  documents: {
    openapi: { root: 'openapi.yaml', output: 'openapi.json' },
    asyncapi: { root: 'asyncapi.yaml', output: 'asyncapi.json' },
  },
  /** Keywords that mean the same in JSON Schema draft-07 and 2020-12; others are refused. */
  schema_keywords: [
    'type',
    'enum',
    'const',
    'properties',
    'required',
    'additionalProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
    'items',
    'minItems',
    'maxItems',
    'uniqueItems',
    'minLength',
    'maxLength',
    'pattern',
    'format',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'oneOf',
    'anyOf',
    'allOf',
    'not',
    'if',
    'then',
    'else',
    'contentEncoding',
    'contentMediaType',
    'description',
    'title',
    'default',
    'examples',
    'deprecated',
    'readOnly',
    'writeOnly',
  ],
  /** The values of each marker; null takes any text, an empty list only `true`. */
  markers: {
    operation: {
      'x-svc-implementation': ['implemented', 'planned'],
      'x-svc-access': ['public', 'principal', 'operator', 'administrator'],
      'x-svc-validation': ['precompiled'],
      'x-svc-trailing-slash': [],
      'x-svc-wildcard': null,
      'x-svc-errors': ['api', 'sdk', 'openai'],
      'x-svc-body': ['raw', 'multipart', 'none'],
      'x-svc-scope': ['read', 'write'],
      'x-svc-rate-limit': ['sign_in'],
      'x-svc-preview': [],
      'x-svc-switch': ['sdk_lifecycle'],
    },
    message: {
      'x-svc-implementation': ['implemented', 'planned', 'partial'],
      'x-svc-kind': ['job', 'rpc', 'chat', 'download', 'connection'],
      'x-svc-request-id': ['required', 'optional'],
      'x-svc-preview': [],
      'x-svc-scope': ['read', 'write'],
      'x-svc-switch': ['sdk_lifecycle'],
      'x-svc-result': null,
    },
  },
  /** The lifecycle profile as others get it: what these tags, operations and files use, and all that it refers to. */
  publication: {
    folder: 'lifecycle-v1',
    index: 'index.json',
    package: '@workflow-execution-service/lifecycle-v1',
    /** Where the schemas are served, and what their `$id` begins with. */
    base: '/schemas/lifecycle-v1/',
    /** Pages that go with it as they are, each from the file that it names. */
    pages: { LICENSE: 'LICENSE', 'conformance.md': 'spec/conformance.md' },
    tags: ['sdk', 'lifecycle'],
    operations: ['getWorkflowInterface'],
    schema_files: ['schemas/lifecycle.yaml', 'schemas/job.yaml', 'schemas/event.yaml', 'schemas/manifest.yaml'],
    schemas: [
      'SdkError',
      'RpcErrorReply',
      'ListWorkflowSummariesCommand',
      'ListWorkflowSummariesReply',
      'GetWorkflowInterfaceCommand',
      'GetWorkflowInterfaceReply',
      'GetWorkflowInterfacesCommand',
      'GetWorkflowInterfacesReply',
      'GetNodeTypeInventoryCommand',
      'GetNodeTypeInventoryReply',
    ],
  },
  /** Error bodies that handlers throw rather than return. */
  error_schemas: ['ApiError', 'SdkError', 'OpenAiError', 'RefusedError'],
  /** Content that a document cannot show as an example. */
  media_without_examples: ['multipart/form-data', 'application/octet-stream', '*/*', 'image/*', 'font/woff2'],
} as const

/** The generator's configuration. */
export type CodegenConfig = typeof config
