// All settings: their defaults, their limits, and that every bad value is reported at once.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Config, ConfigError, type Environment, readConfig } from '../src/config.ts'
import { isSecretName } from '../src/shared/secret-name.ts'
import { rangesOf } from './access/kit.ts'

const LISTEN = { host: '127.0.0.1', port: 7777 }
const read = (environment: Environment) => readConfig(environment, LISTEN)
const MIB = 1024 * 1024

const DEFAULTS: Config = {
  ...LISTEN,
  data_dir: join(homedir(), '.local', 'share', 'svc'),
  database_url: null,
  storage: null,
  durability: 'full',
  public_url: null,
  log_level: 'info',
  production: false,
  sdk_lifecycle: true,
  sdk_lifecycle_preview: false,
  max_concurrent_jobs: 64,
  max_jobs_per_user: 32,
  max_runs_per_workflow: 16,
  max_queued_jobs: 10_000,
  max_job_memory_bytes: 1_073_741_824,
  job_timeout_seconds: null,
  job_retention_days: 30,
  max_body_bytes: 16 * MIB,
  max_upload_bytes: 5 * 1024 * MIB,
  max_temporary_bytes_per_user: 20 * 1024 * MIB,
  ws_max_message_bytes: 32 * MIB,
  ws_rate_limit_disabled: false,
  ws_rate_limit_max: 200,
  identity_provider: null,
  trust_localhost: true,
  trust_local_networks: [],
  trusted_proxies: [],
  admin_users: [],
  integration_token: null,
  allowed_hosts: [],
  allowed_origins: [],
  local_client_token: null,
  rate_limit_disabled: false,
  rate_limit_max: 1000,
  rate_limit_window_ms: 60_000,
  rate_limit_trust_proxy: false,
  model_servers: [],
  provider_urls: {},
  provider_keys: {},
  default_provider: null,
  probe_local_models: true,
  models_dir: null,
  model_hub_url: 'https://huggingface.co',
  runtime_environment: {},
  max_cost_per_job: null,
  max_cost_per_user_per_day: null,
  max_cost_per_day: null,
  http_node_allow: [],
  secrets: {},
  secrets_master_key: null,
  secrets_master_key_new: null,
  known_secrets: [],
  warnings: [],
}

/** Each setting: its key, a good value as text, and the value after reading. */
const GOOD: Record<string, [keyof Config, string, unknown]> = {
  SVC_DATA_DIR: ['data_dir', '/srv/data', '/srv/data'],
  SVC_DATABASE_URL: ['database_url', 'sqlite:/srv/other.db', 'sqlite:/srv/other.db'],
  SVC_DURABILITY: ['durability', 'normal', 'normal'],
  SVC_PUBLIC_URL: ['public_url', 'https://svc.localhost/svc//', 'https://svc.localhost/svc'],
  SVC_LOG_LEVEL: ['log_level', 'warn', 'warn'],
  SVC_ENV: ['production', 'production', true],
  SVC_DISABLE_SDK_LIFECYCLE_V1: ['sdk_lifecycle', '1', false],
  SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: ['sdk_lifecycle_preview', '1', true],
  SVC_MAX_CONCURRENT_JOBS: ['max_concurrent_jobs', '1', 1],
  SVC_MAX_JOBS_PER_USER: ['max_jobs_per_user', '10000', 10_000],
  SVC_MAX_RUNS_PER_WORKFLOW: ['max_runs_per_workflow', '5', 5],
  SVC_MAX_QUEUED_JOBS: ['max_queued_jobs', '0', 0],
  SVC_MAX_JOB_MEMORY_BYTES: ['max_job_memory_bytes', '1048576', 1_048_576],
  SVC_JOB_TIMEOUT_SECONDS: ['job_timeout_seconds', '3600', 3_600],
  SVC_JOB_RETENTION_DAYS: ['job_retention_days', '1', 1],
  SVC_MAX_BODY_BYTES: ['max_body_bytes', '1024', 1_024],
  SVC_MAX_UPLOAD_BYTES: ['max_upload_bytes', '9007199254740991', Number.MAX_SAFE_INTEGER],
  SVC_MAX_TEMPORARY_BYTES_PER_USER: ['max_temporary_bytes_per_user', '0', 0],
  SVC_WS_MAX_MESSAGE_BYTES: ['ws_max_message_bytes', '2048', 2_048],
  SVC_WS_RATE_LIMIT_DISABLED: ['ws_rate_limit_disabled', 'true', true],
  SVC_WS_RATE_LIMIT_MAX: ['ws_rate_limit_max', '1', 1],
  SVC_TRUST_LOCALHOST: ['trust_localhost', 'No', false],
  SVC_TRUST_LOCAL_NETWORKS: [
    'trust_local_networks',
    '172.16.0.0/12, 192.168.65.7,fd00::/8,,::ffff:10.0.0.0/104,fe80::1,64:ff9b::10.0.0.1',
    rangesOf('172.16.0.0/12', '192.168.65.7/32', 'fd00::/8', '10.0.0.0/8', 'fe80::1/128', '64:ff9b::a00:1/128'),
  ],
  SVC_TRUSTED_PROXIES: ['trusted_proxies', '127.0.0.1,::1', rangesOf('127.0.0.1/32', '::1/128')],
  SVC_INTEGRATION_TOKEN: ['integration_token', 'sixteen letters!', 'sixteen letters!'],
  SVC_ALLOWED_HOSTS: ['allowed_hosts', 'a.example, B.example,,box_1', ['a.example', 'b.example', 'box_1']],
  SVC_ALLOWED_ORIGINS: [
    'allowed_origins',
    'https://a.example,HTTP://B.example:80, https://[FD00::1]:8443,http://localhost:3000,tauri://localhost',
    ['https://a.example', 'http://b.example', 'https://[fd00::1]:8443', 'http://localhost:3000', 'tauri://localhost'],
  ],
  SVC_LOCAL_CLIENT_TOKEN: ['local_client_token', 'a~secret!of-this', 'a~secret!of-this'],
  SVC_RATE_LIMIT_DISABLED: ['rate_limit_disabled', '1', true],
  SVC_RATE_LIMIT_MAX: ['rate_limit_max', '1', 1],
  SVC_RATE_LIMIT_WINDOW_MS: ['rate_limit_window_ms', '100', 100],
  SVC_RATE_LIMIT_TRUST_PROXY: ['rate_limit_trust_proxy', 'yes', true],
  SVC_HTTP_NODE_ALLOW: [
    'http_node_allow',
    '10.0.0.0/8, fd00::/8,::1,[::1]:8080,10.0.0.5:8080,intranet,Box.example:1,0.0.0.0/0',
    ['10.0.0.0/8', 'fd00::/8', '::1', '[::1]:8080', '10.0.0.5:8080', 'intranet', 'Box.example:1', '0.0.0.0/0'],
  ],
  SVC_MODEL_SERVERS: [
    'model_servers',
    'box=http://127.0.0.1:8000/v1/, my-hub = https://hub.example/v1',
    [
      { name: 'box', base_url: 'http://127.0.0.1:8000/v1' },
      { name: 'my-hub', base_url: 'https://hub.example/v1' },
    ],
  ],
  SVC_DEFAULT_PROVIDER: ['default_provider', 'google', 'google'],
  SVC_PROBE_LOCAL_MODELS: ['probe_local_models', 'off', false],
  SVC_MODELS_DIR: ['models_dir', '/srv/models', '/srv/models'],
  SVC_MODEL_HUB_URL: ['model_hub_url', 'http://127.0.0.1:9000/', 'http://127.0.0.1:9000'],
  SVC_MAX_COST_PER_JOB: ['max_cost_per_job', '2.50', 2.5],
  SVC_MAX_COST_PER_USER_PER_DAY: ['max_cost_per_user_per_day', '0', 0],
  SVC_MAX_COST_PER_DAY: ['max_cost_per_day', '100', 100],
}

const BAD_RANGES = [
  '10.0.0.0/33',
  '10.0.0.0/',
  '/8',
  '10.0.0.0/8/8',
  '10.0.0/8',
  '10.0.0.0/-1',
  'fd00::/129',
  'localhost',
  'proxy.example',
  'fe80::1%eth0',
  'fe80::1%eth0/64',
  '[::1]',
  '127.0.0.1:80',
  '127.1',
  '010.0.0.1',
  '*',
]

const NO_SWITCH = ['maybe', '2', 'trueish', 'flase', 'o', 'disabled', 'null', '127.0.0.1', 'true false']

/** Values that are refused, each alone. */
const BAD: Record<string, string[]> = {
  SVC_DATABASE_URL: ['postgres://x', '/srv/x.db', 'sqlite:', 'sqlite://user:pw@host/x'],
  SVC_DURABILITY: ['FULL', 'off', 'extra'],
  SVC_PUBLIC_URL: ['example.org', 'ftp://example.org', 'http://', 'https://example.org?x', 'https://example.org/#x'],
  IDP_URL: ['idp.example', 'https://idp.example?key=1'],
  SVC_LOG_LEVEL: ['loud', 'INFO'],
  SVC_MAX_CONCURRENT_JOBS: ['0', '-1', '10001', '1.5', 'many', '1e3', '0x10'],
  SVC_MAX_JOBS_PER_USER: ['0', '10001'],
  SVC_MAX_RUNS_PER_WORKFLOW: ['0', '10001'],
  SVC_MAX_QUEUED_JOBS: ['-1', '10000001'],
  SVC_MAX_JOB_MEMORY_BYTES: ['1048575', '9007199254740992'],
  SVC_JOB_TIMEOUT_SECONDS: ['0', '31536001'],
  SVC_JOB_RETENTION_DAYS: ['0', '36501', 'x'],
  SVC_MAX_BODY_BYTES: ['1023', '1073741825', '16MiB'],
  SVC_MAX_UPLOAD_BYTES: ['1023', '9007199254740992'],
  SVC_MAX_TEMPORARY_BYTES_PER_USER: ['-1', '9007199254740992', '20GiB'],
  SVC_WS_MAX_MESSAGE_BYTES: ['1023', '1073741825'],
  SVC_MODEL_HUB_URL: ['hub.example', 'ftp://hub.example'],
  SVC_DEFAULT_PROVIDER: ['nobody', 'workflow'],
  SVC_PROBE_LOCAL_MODELS: NO_SWITCH,
  SVC_MAX_COST_PER_JOB: ['-1', 'free', '1e3', '$5'],
  SVC_MAX_COST_PER_USER_PER_DAY: ['1.1234567'],
  SVC_MAX_COST_PER_DAY: ['1,5'],
  SVC_WS_RATE_LIMIT_MAX: ['0', '1000001'],
  SVC_RATE_LIMIT_MAX: ['0', '1000000001', '-5'],
  SVC_RATE_LIMIT_WINDOW_MS: ['99', '86400001', '1s'],
  SVC_TRUST_LOCALHOST: NO_SWITCH,
  SVC_RATE_LIMIT_DISABLED: NO_SWITCH,
  SVC_RATE_LIMIT_TRUST_PROXY: NO_SWITCH,
  SVC_WS_RATE_LIMIT_DISABLED: NO_SWITCH,
  SVC_TRUST_LOCAL_NETWORKS: BAD_RANGES,
  SVC_TRUSTED_PROXIES: BAD_RANGES,
  SVC_ALLOWED_HOSTS: [
    'https://box.example',
    'box.example:8080',
    '*.example',
    '*',
    'box..example',
    '.example',
    'box.example.',
    'box/example',
    'ho st',
    '[::1]',
    'bücher.example',
    `${'a'.repeat(64)}.example`,
  ],
  SVC_ALLOWED_ORIGINS: [
    '*',
    'null',
    'app.example',
    'https://',
    'https://*.example',
    'https://app.example/',
    'https://app.example/path',
    'https://app.example?x',
    'https://app.example:port',
    'https://app.example:99999',
    'https://user@app.example',
    'https://[::1',
    'https://256.1.1.1',
    'javascript:0',
  ],
  SVC_HTTP_NODE_ALLOW: [
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    'fd00::/129',
    '::1/x',
    'host/8',
    '*.example',
    'http://host',
    'host:0',
    'host:65536',
    'host:http',
    'ho st',
    '010.0.0.1',
    '2130706433',
    '0x7f.1',
    '127.1',
    'fe80::1%eth0',
    '[fe80::1%eth0]:80',
    '[host]',
    '::1:99999',
    'user@host',
    '.',
  ],
}

/** Keys that depend on several settings, or whose values problems do not show. */
const UNLISTED: (keyof Config)[] = [
  'storage',
  'identity_provider',
  'admin_users',
  'provider_urls',
  'provider_keys',
  'secrets',
  'secrets_master_key',
  'secrets_master_key_new',
  'known_secrets',
  'runtime_environment',
  'warnings',
]

function problemsOf(environment: Environment): readonly string[] {
  try {
    read(environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
  return []
}

describe('settings', () => {
  test('without any, each has its default', () => {
    assert.deepEqual(read({}), DEFAULTS)
  })

  test('an empty one, or one of spaces, is not set', () => {
    for (const empty of ['', '   ']) {
      assert.deepEqual(read(Object.fromEntries(Object.keys(GOOD).map((name) => [name, empty]))), DEFAULTS)
    }
  })

  test('this test covers every setting that config.ts reads, and every key of the configuration', () => {
    const source = ['config.ts', 'config/access.ts', 'config/models.ts', 'config/storage.ts']
      .map((path) => readFileSync(new URL(`../src/${path}`, import.meta.url), 'utf8'))
      .join()
    const names = [...source.matchAll(/'((?:SVC|IDP)_[A-Z0-9_]+)'/g)].map((match) => match[1]!)
    assert.deepEqual(
      [...new Set(names)].sort(),
      [...Object.keys(GOOD), 'IDP_KEY', 'IDP_URL', 'SVC_ADMIN_USERS', 'SVC_STORAGE_URL'].sort(),
    )
    const keys = [...Object.keys(LISTEN), ...Object.values(GOOD).map(([key]) => key), ...UNLISTED]
    assert.deepEqual(keys.sort(), Object.keys(DEFAULTS).sort())
  })

  for (const [name, [key, text, value]] of Object.entries(GOOD)) {
    test(`${name} is read, and changes nothing else`, () => {
      const known_secrets = name.endsWith('_TOKEN') ? [text] : []
      const { warnings, ...found } = read({ [name]: ` ${text} ` })
      const { warnings: _none, ...defaults } = DEFAULTS
      assert.deepEqual(found, { ...defaults, known_secrets, [key]: value })
      assert.deepEqual(warnings.length, name === 'SVC_RATE_LIMIT_DISABLED' ? 1 : 0)
    })
  }

  for (const [name, values] of Object.entries(BAD)) {
    test(`${name} outside of its limits is refused by its name and value`, () => {
      for (const value of values) {
        const problems = problemsOf({ [name]: value })
        assert.equal(problems.length, 1, value)
        assert.ok(problems[0]!.startsWith(`${name} must be `), problems[0])
        const isShown = !/[@?#=]/.test(value)
        assert.equal(problems[0]!.includes(`"${value}"`), isShown, problems[0])
      }
    })
  }

  test('a value that may hold a password is not shown: the problem names only the setting', () => {
    const names = [...Object.keys(GOOD), 'IDP_URL', 'SVC_STORAGE_URL', 'OLLAMA_HOST']
    names.push(...['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'])
    const told = new Set<string>()
    for (const name of names)
      for (const value of [
        'postgres://user:hidden@host/db',
        'postgres://user:hid,hidden,hidden=den@host/db',
        'https://host.example/v1?key=hidden',
        'https://host.example/v1?hidden',
        'https://host.example/v1#hidden',
        'host=db user=svc password=hidden',
      ])
        for (const problem of problemsOf({ [name]: value })) {
          assert.ok(problem.startsWith(`${name} must be `), problem)
          assert.doesNotMatch(problem, /hid/, problem)
          told.add(name)
        }
    for (const name of Object.keys(BAD)) assert.ok(told.has(name), name)
  })

  test('every bad value is reported at once', () => {
    const environment = Object.fromEntries(Object.entries(BAD).map(([name, values]) => [name, values[0]]))
    const names = problemsOf(environment).map((problem) => problem.split(' ')[0])
    assert.deepEqual(names.sort(), Object.keys(BAD).sort())
  })

  test('each entry of a list that is no good is reported', () => {
    const problems = problemsOf({ SVC_HTTP_NODE_ALLOW: '10.0.0.0/33, ::1, *.example' })
    assert.deepEqual(
      problems.map((problem) => problem.slice(problem.lastIndexOf(' ') + 1)),
      ['"10.0.0.0/33"', '"*.example"'],
    )
  })

  test('secrets are read by their names, as they are', () => {
    const given = { SVC_SECRET_B: ' b ', SVC_SECRET_a_1: 'a', SVC_SECRET_EMPTY: '', SVC_SECRETS: 'x', OTHER: 'y' }
    assert.deepEqual(read(given).secrets, { B: ' b ', a_1: 'a' })
    assert.deepEqual(read({ SVC_SECRET___proto__: 'p' }).secrets, Object.fromEntries([['__proto__', 'p']]))
  })

  test('secrets are named as the contract says, or refused without their values', () => {
    const document = readFileSync(new URL('../generated/openapi.json', import.meta.url), 'utf8')
    const { pattern } = JSON.parse(document).components.schemas.SecretName as { pattern: string }
    const names = ['A', '_', 'a_1', 'A'.repeat(128), '', '9', '1A', 'A-B', 'A.B', 'A B', 'Ä', 'A\n', 'A'.repeat(129)]
    for (const name of names) {
      assert.equal(isSecretName(name), new RegExp(pattern).test(name), name)
      const problems = problemsOf({ [`SVC_SECRET_${name}`]: 'hidden' })
      assert.equal(problems.length, isSecretName(name) ? 0 : 1, name)
      assert.ok(problems.every((problem) => problem.startsWith(`SVC_SECRET_${name} `) && !problem.includes('hidden')))
    }
  })

  test('master keys are taken as texts, and one that is too short is named without it', () => {
    const given = { SECRETS_MASTER_KEY: ' sixteen letters! ', SECRETS_MASTER_KEY_NEW: 'sixteen other letters' }
    const { secrets_master_key, secrets_master_key_new } = read(given)
    assert.deepEqual([secrets_master_key, secrets_master_key_new], ['sixteen letters!', 'sixteen other letters'])
    for (const name of ['SECRETS_MASTER_KEY', 'SECRETS_MASTER_KEY_NEW'])
      assert.deepEqual(problemsOf({ [name]: 'fifteen letters' }), [`${name} must have at least 16 characters`])
  })

  test('values that are to be redacted are gathered', () => {
    const given = {
      SVC_SECRET_DB: 'word of the db',
      OPENAI_API_KEY: 'sk-123456',
      SECRETS_MASTER_KEY: 'sixteen letters!',
      IDP_KEY: 'key of the provider',
      SVC_INTEGRATION_TOKEN: 'word of the bridges',
      SVC_LOCAL_CLIENT_TOKEN: 'word-of-the-window',
    }
    assert.deepEqual(read(given).known_secrets, Object.values(given))
  })

  test('a switch is on or off by words that mean it', () => {
    for (const off of ['0', 'false', 'no', 'off', 'FALSE', ' Off ']) {
      assert.equal(read({ SVC_WS_RATE_LIMIT_DISABLED: off }).ws_rate_limit_disabled, false, off)
      assert.equal(read({ SVC_TRUST_LOCALHOST: off }).trust_localhost, false, off)
    }
    for (const on of ['1', 'true', 'yes', 'on', 'TRUE', ' Yes ']) {
      assert.equal(read({ SVC_WS_RATE_LIMIT_DISABLED: on }).ws_rate_limit_disabled, true, on)
      assert.equal(read({ SVC_TRUST_LOCALHOST: on }).trust_localhost, true, on)
    }
  })
})

describe('warnings at the start', () => {
  const warned = (environment: Environment, host = LISTEN.host) => readConfig(environment, { ...LISTEN, host }).warnings

  test('name an unknown setting, and the one that may be meant', () => {
    const near = {
      SVC_TRUSTED_PROXY: 'SVC_TRUSTED_PROXIES',
      SVC_TRUST_PROXY: 'SVC_TRUSTED_PROXIES',
      SVC_RATE_LIMIT_DISABLE: 'SVC_RATE_LIMIT_DISABLED',
      SVC_ALLOWED_ORIGIN: 'SVC_ALLOWED_ORIGINS',
      SVC_DATADIR: 'SVC_DATA_DIR',
    }
    for (const [name, meant] of Object.entries(near))
      assert.deepEqual(warned({ [name]: 'x' }), [`${name} is not a setting and has no effect; did you mean ${meant}?`])
    const far = { SVC_PORT: '80', SVC_: 'x', SVC_NOTHING_OF_THE_KIND: 'x' }
    assert.deepEqual(
      warned(far),
      Object.keys(far)
        .sort()
        .map((name) => `${name} is not a setting and has no effect`),
    )
  })

  test('do not name known or empty settings, nor variables that other programs or tests read', () => {
    const silent = {
      SVC_TRUSTED_PROXY: ' ',
      SVC_SECRET_KEY: 'word',
      SVC_TEST_SCALE: '1',
      SVC_BENCH_SCALE: '1',
      AUTH_PROVIDER: 'local',
      SERVER_AUTH_TOKEN: 'a token for deployments',
      SVCS: 'x',
      PATH: '/bin',
    }
    assert.deepEqual(warned(silent), [])
  })

  test('say that the request limit is off, or that callers can evade it', () => {
    for (const host of ['127.0.0.1', '0.0.0.0'])
      assert.match(warned({ SVC_RATE_LIMIT_DISABLED: 'on' }, host).join(), /^SVC_RATE_LIMIT_DISABLED is on: /)
    assert.deepEqual(warned({ SVC_RATE_LIMIT_DISABLED: 'off' }, '0.0.0.0'), [])
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'box.example', '127.example'])
      assert.match(warned({ SVC_RATE_LIMIT_TRUST_PROXY: '1' }, host).join(), /^SVC_RATE_LIMIT_TRUST_PROXY is on and /)
    for (const host of ['127.0.0.1', '127.0.0.2', '::1', 'localhost'])
      assert.deepEqual(warned({ SVC_RATE_LIMIT_TRUST_PROXY: '1' }, host), [])
  })
})

describe('the bucket of files', () => {
  const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'a/secret+key' }
  const credentials = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'a/secret+key', session_token: null }

  test('is Amazon’s, unless an endpoint is named', () => {
    assert.deepEqual(read({ SVC_STORAGE_URL: 's3://my-bucket', ...KEYS }).storage, {
      bucket: 'my-bucket',
      prefix: '',
      endpoint: 'https://s3.us-east-1.amazonaws.com',
      region: 'us-east-1',
      path_style: false,
      credentials,
    })
    const SVC_STORAGE_URL = 's3://b.1-x/of/svc_1/?region=eu-west-1&endpoint=http%3A%2F%2F127.0.0.1:9000'
    const { storage, known_secrets } = read({ SVC_STORAGE_URL, ...KEYS, AWS_SESSION_TOKEN: 'passing token' })
    assert.deepEqual(storage, {
      bucket: 'b.1-x',
      prefix: 'of/svc_1',
      endpoint: 'http://127.0.0.1:9000',
      region: 'eu-west-1',
      path_style: true,
      credentials: { ...credentials, session_token: 'passing token' },
    })
    assert.deepEqual(known_secrets, ['a/secret+key', 'passing token'])
    const host_style = 's3://bucket?endpoint=https://s3.example/&path_style=false'
    assert.deepEqual(read({ SVC_STORAGE_URL: host_style, ...KEYS }).storage?.path_style, false)
  })

  test('is refused if it is not valid, without showing what may be a secret', () => {
    for (const url of [
      'bucket/prefix',
      'https://bucket/prefix',
      's3://',
      's3://ab',
      's3://bu cket',
      's3://bucket:9000',
      's3://AKID:hidden@bucket',
      's3://bucket/a//hidden',
      `s3://bucket/${'x'.repeat(257)}`,
      's3://bucket#hidden',
      's3://bucket?secret_access_key=hidden',
      's3://bucket?region=eu&region=hidden',
      's3://bucket?region=EU%20hidden',
      's3://bucket?endpoint=hidden',
      's3://bucket?endpoint=ftp://hidden',
      's3://bucket?endpoint=http://x:hidden@127.0.0.1',
      's3://bucket?endpoint=http://127.0.0.1/hidden',
      's3://bucket?path_style=hidden',
    ]) {
      const problems = problemsOf({ SVC_STORAGE_URL: url, ...KEYS })
      assert.equal(problems.length, 1, url)
      assert.match(
        problems[0]!,
        /^SVC_STORAGE_URL must be s3:\/\/bucket\/prefix\?[^:]*, where only the bucket is required: ./,
      )
      assert.ok(!problems[0]!.includes('hidden'), problems[0])
    }
  })

  test('needs credentials, which are not told, and a database that stays', () => {
    const needed = ['SVC_STORAGE_URL needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY']
    for (const name of Object.keys(KEYS))
      assert.deepEqual(problemsOf({ SVC_STORAGE_URL: 's3://bucket', ...KEYS, [name]: ' ' }), needed)
    assert.equal(read(KEYS).storage, null)
    const { warnings } = read({ SVC_STORAGE_URL: 's3://bucket', SVC_DATABASE_URL: 'sqlite::memory:', ...KEYS })
    assert.match(warnings.join(), /^SVC_STORAGE_URL has no effect with a database in memory/)
  })
})
