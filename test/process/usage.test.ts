// `svc` without the work of a command: its list of commands, help, versions, and wrong command lines.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatHelp, formatUsage, isCommandName, USAGES } from '../../src/cli/help.ts'
import { version } from '../../src/version.ts'
import { svc } from '../helpers/process.ts'

const NAMES = Object.keys(USAGES).filter(isCommandName)

describe('svc without a command’s work', () => {
  for (const flag of ['--help', '-h', 'help']) {
    test(`${flag} lists the commands`, async () => {
      const { code, stdout, stderr } = await svc([flag])
      assert.deepEqual([code, stdout, stderr], [0, formatHelp(null), ''])
      for (const name of NAMES) assert.match(stdout, new RegExp(`^  svc ${name} +\\w`, 'm'))
    })
  }
  for (const flag of ['--version', '-v']) {
    test(`${flag} shows the version`, async () => {
      const { code, stdout } = await svc([flag])
      assert.deepEqual([code, stdout], [0, `${version}\n`])
    })
  }
  for (const name of NAMES) {
    test(`${name} --help shows its usage`, async () => {
      const { code, stdout, stderr } = await svc([name, '--help'])
      assert.deepEqual([code, stdout, stderr], [0, formatHelp(name), ''])
      assert.ok(stdout.startsWith(`${formatUsage(name)}\n\nsvc ${name} `))
    })
  }
  test('lists every exit code in the help of run', () => {
    for (const code of [0, 1, 2, 3, 124, 130]) assert.match(formatHelp('run'), new RegExp(`^  ${code} `, 'm'))
  })
  test('has no help line wider than 130 columns', () => {
    for (const name of [null, ...NAMES]) {
      const wide = formatHelp(name)
        .split('\n')
        .filter((line) => line.length > 130)
      assert.deepEqual(wide, [])
    }
  })
})

describe('svc with wrong usage', () => {
  const WRONG: Record<string, { args: string[]; message: RegExp; usage: string }> = {
    'no command': { args: [], message: /a command is missing/, usage: formatUsage(null) },
    'an unknown command': { args: ['start'], message: /there is no command "start"/, usage: formatUsage(null) },
    'a name that every object has': {
      args: ['toString'],
      message: /no command "toString"/,
      usage: formatUsage(null),
    },
    'run without FILE': { args: ['run'], message: /FILE is missing/, usage: formatUsage('run') },
    'run with two files': { args: ['run', 'a', 'b'], message: /unexpected argument "b"/, usage: formatUsage('run') },
    'an unknown option': {
      args: ['run', 'a', '--fast'],
      message: /Unknown option '--fast'/,
      usage: formatUsage('run'),
    },
    'a param without =': {
      args: ['run', 'greeting', '--param', 'name'],
      message: /--param takes name=value, not "name"/,
      usage: formatUsage('run'),
    },
    'a param without a name': {
      args: ['run', 'greeting', '--param', '=x'],
      message: /--param takes name=value/,
      usage: formatUsage('run'),
    },
    'a param given twice': {
      args: ['run', 'greeting', '--param', 'name=a', '--param', 'name=b'],
      message: /--param name is given twice: only a streamed input/,
      usage: formatUsage('run'),
    },
    'a param of a file without its name': {
      args: ['run', 'greeting', '--param', 'name=@'],
      message: /needs the name of a file/,
      usage: formatUsage('run'),
    },
    'a time limit that is none': {
      args: ['run', 'greeting', '--timeout', 'soon'],
      message: /--timeout takes seconds/,
      usage: formatUsage('run'),
    },
    'a time limit of nothing': {
      args: ['run', 'greeting', '--timeout', '0'],
      message: /more than 0/,
      usage: formatUsage('run'),
    },
    'quiet events': {
      args: ['run', 'greeting', '--quiet', '--json-events'],
      message: /exclude each other/,
      usage: formatUsage('run'),
    },
    'a called workflow without a file': {
      args: ['run', 'greeting', '--workflow', 'x'],
      message: /--workflow takes id=FILE/,
      usage: formatUsage('run'),
    },
    'validate without FILE': { args: ['validate'], message: /FILE is missing/, usage: formatUsage('validate') },
    'nodes with two texts': {
      args: ['nodes', 'a', 'b'],
      message: /unexpected argument "b"/,
      usage: formatUsage('nodes'),
    },
    'examples with a name': {
      args: ['examples', 'a'],
      message: /unexpected argument "a"/,
      usage: formatUsage('examples'),
    },
  }
  for (const [what, { args, message, usage }] of Object.entries(WRONG)) {
    test(`${what} is refused with the usage and 2`, async () => {
      const { code, stdout, stderr } = await svc(args)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, message)
      assert.ok(stderr.startsWith('svc: '))
      assert.ok(stderr.endsWith(`${usage}\n`), stderr)
    })
  }
})
