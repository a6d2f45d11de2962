// The texts of `svc --help` and `svc COMMAND --help`.
import { DISCOVERABLE_PROVIDERS, listProviderSettings, MODEL_PROVIDERS } from '../config/model-providers.ts'
import { TOKEN_KEY, TOKEN_VARIABLE } from '../deploy/token-format.ts'

export const USAGES = {
  serve: 'svc serve [--host HOST] [--port PORT]',
  run: 'svc run FILE [--param NAME=VALUE]… [--params FILE] [--workflow ID=FILE]… [OPTION]…',
  validate: 'svc validate FILE [--workflow ID=FILE]… [--json]',
  nodes: 'svc nodes [NAME | TEXT] [--json]',
  examples: 'svc examples [--json]',
  models: 'svc models [PROVIDER] [--json] | pull REPO [FILE] [--hub URL] [--include PATTERN]… [--exclude PATTERN]…',
  check: 'svc check [--accept-loss]',
  backup: 'svc backup DIR [--force] [--incomplete]',
  restore: 'svc restore DIR [--force]',
  compact: 'svc compact',
  secrets: 'svc secrets rotate',
  'deploy-token': 'svc deploy-token [--config FILE] [--source]',
  contract: 'svc contract diff OLD NEW [--json]',
  conformance: 'svc conformance server --url URL [OPTION]… | client [--exec COMMAND] [OPTION]…',
} as const

export type CommandName = keyof typeof USAGES

const PURPOSES: Readonly<Record<CommandName, string>> = {
  serve: 'serves the workflow execution service over HTTP and WebSocket',
  run: 'runs a workflow to its end, without a server',
  validate: 'lists every problem of a workflow',
  nodes: 'lists the node types, or describes one',
  examples: 'lists the bundled workflows',
  models: 'lists the models, and why some are unavailable, or downloads model files',
  check: 'looks for damage in the stored data of a server',
  backup: 'copies the stored data of a server, even while it runs',
  restore: 'restores a backup',
  compact: 'shrinks the file of the database to its minimal size',
  secrets: 'changes the key that encrypts stored data',
  'deploy-token': 'prints the token for a deployed container, and generates one if there is none',
  contract: 'compares two publications of the contract',
  conformance: 'runs the conformance suite against a server or a client',
}

const FILE_HELP = `FILE is a workflow ({"name": …, "graph": {"nodes": …, "edges": …}}) or a graph ({"nodes": …, "edges": …})
as JSON, - for standard input, or the id of a bundled example if no file has that name.`

const CALLS_HELP = `  --workflow ID=FILE    the file of the workflow that a workflow.Call of ID or the tool workflow/ID of an agent runs;
                        may be repeated. Without it, an id that begins with ./ is a file in the folder of FILE or
                        below, and any other id is that of a bundled example`

const PROVIDER_SETTINGS_HELP = MODEL_PROVIDERS.flatMap(listProviderSettings)
  .map(([setting, purpose]) => `  ${setting.padEnd(24)}${purpose}`)
  .join('\n')

const USUAL_PORTS_HELP = DISCOVERABLE_PROVIDERS.map(({ title, port }) => `${title} ${port}`).join(', ')

const DETAILS: Readonly<Record<CommandName, string>> = {
  serve: `The server listens on 127.0.0.1:7777 by default. Settings are environment variables: those that begin with SVC_,
SECRETS_MASTER_KEY, and IDP_URL with IDP_KEY, with which callers sign in at an identity provider. The guide lists them
(spec/guide/settings.md).

  --host HOST           the address to listen on
  --port PORT           0 chooses a free port`,
  run: `${FILE_HELP}

  --param NAME=VALUE    an input of the workflow; may be repeated. A text input takes VALUE unchanged, every other
                        input takes JSON. An input of any type takes text that is not JSON as text. @PATH is the
                        content of a file (@- standard input), @@… is a text that begins with @. For a streamed
                        input, each --param is an item of the stream
  --params FILE         a JSON object of inputs by name, or - for standard input. --param overrides it, and both
                        override the params in the workflow's own record, which bundled examples have
${CALLS_HELP}
  --data DIR            stores the vectors of vector.* nodes in this data folder, which is created if it is missing and
                        which no server may use meanwhile. Without it, the vectors are lost after the run
  --timeout SECONDS     ends the run when it takes longer (default: SVC_JOB_TIMEOUT_SECONDS, if set)
  --quiet               writes only errors
  --json-events         writes the frames that /ws would send, a JSON object a line, instead of the progress

The outputs are written to standard output as one JSON object. A streamed output is a list, and an output without a
value is null. Everything else goes to standard error. The first Ctrl-C cancels the run, the second ends it at once.
Only --data stores anything, and the data of a running server is not changed. SVC_MAX_COST_PER_JOB limits the cost of
the models of the run; the limits per day apply only on servers.

Exit codes:
  0    completed
  1    failed, or the settings are wrong
  2    wrong usage, or a file cannot be read
  3    the workflow or the parameters are not valid
  124  not finished after --timeout SECONDS
  130  cancelled by Ctrl-C (143 by SIGTERM)`,
  validate: `${FILE_HELP}

The command lists every problem with its node, and the inputs and outputs of a workflow that can run.

${CALLS_HELP}
  --json                writes {"valid", "issues", "inputs", "outputs"} as JSON

Exit codes: 0 valid, perhaps with warnings; 2 wrong usage, or a file cannot be read; 3 not valid.`,
  nodes: `Without an argument, the command lists all node types. With the name of a node type, it shows the properties,
the outputs and an example. With any other text, it lists the node types that have the text in their name, title or
description.

  --json                writes the same as JSON

Exit codes: 0 found, 1 nothing found, 2 wrong usage.`,
  examples: `To run a workflow by its id, with its own params: svc run ID.

  --json                writes the same as JSON`,
  models: `The command asks every provider in the settings for its models, with the keys of this environment. It also looks for
model servers on the usual ports of this machine (not with SVC_PROBE_LOCAL_MODELS=off):
${USUAL_PORTS_HELP}.
Files in the models folder belong to the provider local. If none of a provider's models is usable, the command says
why: which key to set, that the provider refused the key, that nothing listens at its URL, or what to install. Listing
models costs nothing. Keys that users store on a running server are not used.

${PROVIDER_SETTINGS_HELP}
  SVC_MODEL_SERVERS       other servers with OpenAI's protocol, as name=URL; the key of each is <NAME>_API_KEY

  PROVIDER              only this provider
  --json                writes [{"name", "title", "kind", "base_url", "credential", "status", "reason", "models"}] as
                        JSON; a status is ready, no_key or failed

pull: downloads FILE, or all files of a repository of the hub, into the models folder (SVC_MODELS_DIR, or models in the
data folder). Each file is checked against its digest before it is put in place. Complete files are not downloaded
again, and an interrupted download continues. The key HF_TOKEN is sent only to the hub. The path of the download is
written to standard output.

  --hub URL             the hub (default: SVC_MODEL_HUB_URL)
  --include PATTERN     only files that match; * stands for any characters, ? for one character; may be repeated
  --exclude PATTERN     no files that match; may be repeated

Exit codes: 0 done; 1 PROVIDER is unknown or not ready, or the files could not be downloaded; 2 wrong usage;
3 a path is not allowed; 130 stopped by Ctrl-C (143 by SIGTERM).`,
  check: `The command reads the whole database with its references and its schema. It compares jobs, events and graphs with each
other, and the files of assets with their digests. SVC_DATA_DIR, SVC_DATABASE_URL and SVC_STORAGE_URL name their places;
a file in a bucket is downloaded, and not kept. Nothing is changed. A server may run: the command sees its data as of
one moment. If the database lacks acknowledged commits, or is missing beside its mark or its key, no server starts, and
the command says what is missing.

  --accept-loss         lets the next start continue without that, and log what was lost; no server may run

Exit codes: 0 sound, or a loss is accepted and the rest is sound; 1 not sound, with a line for each finding, or there is
no database; 2 wrong usage.`,
  backup: `The command creates DIR with the database as of one moment, the files of assets, and a manifest with the digest of each.
The server may run. Files in a bucket (SVC_STORAGE_URL) are downloaded. The copy is read again and checked before DIR
gets its name: if a file of an asset is missing or changed, no backup is made. An interrupted backup leaves a folder
DIR.partial-… that may be deleted. DIR must be outside of the data folder, and only its owner may read it.

The master key (master.key in the data folder, or SECRETS_MASTER_KEY) is not included, so that the backup reveals no
secrets. Keep a copy of the key in another place: unfinished jobs cannot continue without it.

  --force               replaces DIR, if it is a backup
  --incomplete          makes the backup even if files of assets are missing or changed, and lists those files; an
                        existing backup DIR is then not replaced

Exit codes: 0 done; 1 not possible; 2 wrong usage.`,
  restore: `DIR is a backup. Each of its files is compared with the manifest before anything is changed. The server must be stopped.
Jobs resume at their state in the backup, and may repeat what they did after it.

  --force               moves existing data aside, to names that end with .before-…; nothing is deleted. Without it, a
                        data folder that holds data is not changed

Existing files of assets with the same content take no further disk space: old and new data share them. If the disk has
no room for the rest, nothing is copied, and the command says how many bytes are missing.

The command says which master key the backup needs, if that is not the present key.

If the command is interrupted while it copies the backup to restore-incoming/ of the data folder, nothing has changed.
If it is interrupted later, no server starts until the same command has completed.

Exit codes: 0 done; 1 not possible, the backup is incomplete or damaged, or a server runs; 2 wrong usage.`,
  compact: `The database is copied row by row, and the complete copy replaces the old file. The server must be stopped, and the disk
needs room for the copy. An interruption changes nothing.

A server itself gives the space of removed jobs back. This command is for a database of an older version that was too
large to be rewritten at a start, as the log then says, or for use after many removals.

Exit codes: 0 done; 1 not possible: the disk has no room, or another program has the database open; 2 wrong usage.`,
  secrets: `The present key is SECRETS_MASTER_KEY, or else the key in the file master.key of the data folder. The new key is
SECRETS_MASTER_KEY_NEW; without it, a new key is generated into master.key. The server must be stopped. If the command is
interrupted, run it again: it continues where it stopped, and no server starts until it has completed.

Earlier backups can be read only with the old key. An old master.key is kept in the data folder as master.key.before-…;
keep an old SECRETS_MASTER_KEY yourself. Delete the old key with the last of those backups.

Exit codes: 0 done; 1 not possible, or the settings are wrong; 2 wrong usage; 130 stopped by Ctrl-C (143 by SIGTERM).`,
  'deploy-token': `For deployment tools: a server does not read this token, and the token does not protect the API.

The token is ${TOKEN_VARIABLE}, or else the key ${TOKEN_KEY} in FILE. If neither exists, 32 random bytes in
base64url are generated and stored in FILE under that key; then only its owner may read FILE. FILE gets one more line,
and every other byte stays. If FILE is a mapping in braces, or null, it is rewritten with its values and comments.
Concurrent processes agree on one token by the file FILE.token; if another user owns that file, they refuse.
Standard output gets only the token, standard error its origin.

  --config FILE         a YAML mapping, which need not exist (default: deployment.yaml in this folder)
  --source              writes environment, file or none instead of the token, and generates no token

Exit codes: 0 done; 1 not possible, or the token is not valid; 2 wrong usage.`,
  contract: `OLD and NEW are publications of the contract: folders such as generated/lifecycle-v1, archives of make publish-contract
(.tgz), or the index.json of a folder. Each is first checked against its own digests.

Every difference is additive (all that was valid still is), risky (some clients may fail) or breaking (some clients will
fail). It is judged for a client of OLD: its requests must still be accepted, and responses must be as it expects.
Texts for people do not count as differences, and changes of planned parts are never breaking.

  --json                writes {"verdict", "old", "new", "differences"} as JSON

Exit codes: 0 no difference, or additive ones; 2 risky; 3 breaking; 64 wrong usage, or a publication cannot be read.`,
  conformance: `server: tests a server, of this project or another, against the contract. The suite tries what the server's documents
claim, with valid and invalid input and over whole runs, and checks that the rest is absent. It creates workflows, jobs
and a secret on the server, all with conformance in their names, and removes them again.

  --url URL             the URL of the server; a path in it goes before every path of the contract
  --token T             the bearer token of the requests
  --other-token T       the token of another principal, who must not see the jobs of the first
  --expired-job ID, --swept-job ID  a job past its retention, and a job whose events are past theirs
  --profile PROFILE     lifecycle: the SDK's operations and what they require; full: everything (default)
  --only ID             a requirement of spec/requirements.yaml, or the beginning of some, such as server.events; may be
                        repeated
  --format FORMAT       text (default), json or junit
  --output FILE         writes the report to FILE
  --timeout SECONDS     how long an answer may take (default 10)
  --patience SECONDS    how long the suite may wait at its end for rare events (default 0); 27 are enough

Exit codes: 0 nothing failed; 1 a requirement failed; 2 wrong usage, no server answers, or FILE cannot be written.

client: plays scenarios against a client, as a server that answers late, twice, in another order or not at all. It judges
the requests of the client. spec/conformance.md describes how a client takes part.

  --exec COMMAND        does the task of a scenario with the client; started once for each scenario, with SVC_URL,
                        SVC_TOKEN, SVC_SCENARIO and SVC_TASK (JSON). Without it, the command waits for a client that is
                        started by hand
  --scenario NAME       a scenario; may be repeated (default: all scenarios)
  --list                lists the scenarios with their rules, and plays none
  --port N              the port to listen on; 0, the default, chooses a free port
  --pace P              scales the times of the contract that scenarios wait for, such as 70 seconds of silence (default 1)
  --format FORMAT       text (default), json or junit, with all traffic of the scenario
  --output FILE         writes the report to FILE
  --timeout SECONDS     how long a scenario may take (default 60)

Exit codes: 0 all passed; 1 some failed; 2 some are open, or wrong usage; 130 stopped by Ctrl-C (143 by SIGTERM).`,
}

const NAMES = Object.keys(USAGES) as CommandName[]

/** `usage: …` of one command, or of all. */
export function formatUsage(name: CommandName | null): string {
  if (name !== null) return `usage: ${USAGES[name]}`
  return `usage: svc ${NAMES.join(' | svc ')}\nsvc COMMAND --help tells more`
}

/** The help of one command, or the overview of all. */
export function formatHelp(name: CommandName | null): string {
  if (name !== null) return `usage: ${USAGES[name]}\n\nsvc ${name} ${PURPOSES[name]}.\n\n${DETAILS[name]}\n`
  const list = NAMES.map((one) => `  svc ${one.padEnd(12)} ${PURPOSES[one]}`)
  return `usage: svc COMMAND [ARGUMENT]…\n\n${list.join('\n')}\n\nsvc COMMAND --help tells more; svc --version prints the version.\n`
}

export function isCommandName(name: string | undefined): name is CommandName {
  return name !== undefined && Object.hasOwn(USAGES, name)
}
