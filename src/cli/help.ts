// What `svc --help` and `svc COMMAND --help` say.

export const USAGES = {
  serve: 'svc serve [--host HOST] [--port PORT]',
  run: 'svc run FILE [--param NAME=VALUE]… [--params FILE] [--workflow ID=FILE]… [--timeout SECONDS] [--quiet | --json-events]',
  validate: 'svc validate FILE [--workflow ID=FILE]… [--json]',
  nodes: 'svc nodes [NAME | TEXT] [--json]',
  examples: 'svc examples [--json]',
} as const

export type CommandName = keyof typeof USAGES

const PURPOSES: Readonly<Record<CommandName, string>> = {
  serve: 'serves the workflow execution service over HTTP and WebSocket',
  run: 'runs a workflow to its end, without a server',
  validate: 'lists everything that is wrong with a workflow',
  nodes: 'lists the node types, or tells all about one',
  examples: 'lists the bundled workflows',
}

const FILE = `FILE is a workflow ({"name": …, "graph": {"nodes": …, "edges": …}}) or a graph ({"nodes": …, "edges": …})
as JSON, - for standard input, or the id of a bundled example where there is no file of that name.`

const CALLS = `  --workflow ID=FILE    the file that a workflow.Call of ID runs; may be repeated. Without it, an id that begins
                        with ./ is a file in the folder of FILE or below, any other the id of a bundled example`

const DETAILS: Readonly<Record<CommandName, string>> = {
  serve: `It listens on 127.0.0.1:7777 unless told otherwise. Settings are environment variables that begin with SVC_;
the README lists them.

  --host HOST           the address to listen on
  --port PORT           0 takes any free one`,
  run: `${FILE}

  --param NAME=VALUE    an input of the workflow; may be repeated. A text input takes VALUE as it is, every other
                        input takes it as JSON, and one of any type as text where it is no JSON. @PATH is the
                        content of a file (@- standard input), @@… a text that begins with @. Repeated for a
                        streamed input, each is an item of the stream
  --params FILE         a JSON object of inputs by name, or - for standard input; --param goes before it, and both
                        go before the params that a workflow's own record may bring, as the bundled examples do
${CALLS}
  --timeout SECONDS     ends the run as soon as it takes longer (without it: SVC_JOB_TIMEOUT_SECONDS, if set)
  --quiet               says nothing but what went wrong
  --json-events         writes the frames that /ws would send, a JSON object a line, in place of the progress

The outputs are written to standard output as one JSON object, a streamed output as a list, and one that got nothing
as null; everything else goes to standard error. Ctrl-C cancels the run, and a second time ends it at once. Nothing
is stored, and the data of a running server is not touched.

Exit codes:
  0    completed
  1    failed, or the settings are wrong
  2    wrong usage, or a file that cannot be read
  3    the workflow or the parameters are not valid
  124  not over after --timeout SECONDS
  130  cancelled by Ctrl-C (143 by SIGTERM)`,
  validate: `${FILE}

It lists every problem with its node, and what the workflow takes and gives if it can run.

${CALLS}
  --json                writes {"valid", "issues", "inputs", "outputs"} as JSON

Exit codes: 0 valid, if with warnings; 2 wrong usage, or a file that cannot be read; 3 not valid.`,
  nodes: `Without an argument it lists all; with the name of one it shows its properties and outputs; with any other text
it lists those that have it in their name, title or description.

  --json                writes the same as JSON

Exit codes: 0 found, 1 nothing found, 2 wrong usage.`,
  examples: `Each can be run by its id, with params of its own: svc run ID.

  --json                writes the same as JSON`,
}

const NAMES = Object.keys(USAGES) as CommandName[]

/** `usage: …` of one command, or of all. */
export function usageLine(name: CommandName | null): string {
  if (name !== null) return `usage: ${USAGES[name]}`
  return `usage: svc ${NAMES.join(' | svc ')}\nsvc COMMAND --help tells more`
}

/** The help of one command, or the overview of all. */
export function helpText(name: CommandName | null): string {
  if (name !== null) return `usage: ${USAGES[name]}\n\nsvc ${name} ${PURPOSES[name]}.\n\n${DETAILS[name]}\n`
  const list = NAMES.map((one) => `  svc ${one.padEnd(10)} ${PURPOSES[one]}`)
  return `usage: svc COMMAND [ARGUMENT]…\n\n${list.join('\n')}\n\nsvc COMMAND --help tells more; svc --version tells the version.\n`
}

export function isCommand(name: string | undefined): name is CommandName {
  return name !== undefined && Object.hasOwn(USAGES, name)
}
