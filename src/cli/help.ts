// What `svc --help` and `svc COMMAND --help` say.
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
  validate: 'lists everything that is wrong with a workflow',
  nodes: 'lists the node types, or tells all about one',
  examples: 'lists the bundled workflows',
  models: 'lists the models there are, and why some cannot be asked, or fetches the files of one',
  check: 'looks for damage in what a server has stored',
  backup: 'copies what a server has stored, also while it runs',
  restore: 'brings a backup back',
  compact: 'makes the file of the database no longer than it has to be',
  secrets: 'changes the key that stored data is encrypted under',
  'deploy-token': 'gives the token for a deployed container, and makes one where there is none',
  contract: 'compares two publications of the contract',
  conformance: 'holds a server, or a client, against the contract',
}

const FILE_HELP = `FILE is a workflow ({"name": …, "graph": {"nodes": …, "edges": …}}) or a graph ({"nodes": …, "edges": …})
as JSON, - for standard input, or the id of a bundled example where there is no file of that name.`

const CALLS_HELP = `  --workflow ID=FILE    the file that a workflow.Call of ID runs, or the tool workflow/ID of an agent; may be repeated.
                        Without it, an id that begins with ./ is a file in the folder of FILE or below, any other the
                        id of a bundled example`

const DETAILS: Readonly<Record<CommandName, string>> = {
  serve: `It listens on 127.0.0.1:7777 unless told otherwise. Settings are environment variables, which the README lists:
those that begin with SVC_, SECRETS_MASTER_KEY, and IDP_URL with IDP_KEY, which make callers sign in with an identity
provider.

  --host HOST           the address to listen on
  --port PORT           0 takes any free one`,
  run: `${FILE_HELP}

  --param NAME=VALUE    an input of the workflow; may be repeated. A text input takes VALUE as it is, every other
                        input takes it as JSON, and one of any type as text where it is no JSON. @PATH is the
                        content of a file (@- standard input), @@… a text that begins with @. Repeated for a
                        streamed input, each is an item of the stream
  --params FILE         a JSON object of inputs by name, or - for standard input; --param goes before it, and both
                        go before the params that a workflow's own record may bring, as the bundled examples do
${CALLS_HELP}
  --data DIR            keeps the vectors of vector.* nodes in this data folder, which is made where it is missing and
                        which no server may have meanwhile. Without it they are gone with the run
  --timeout SECONDS     ends the run as soon as it takes longer (without it: SVC_JOB_TIMEOUT_SECONDS, if set)
  --quiet               says nothing but what went wrong
  --json-events         writes the frames that /ws would send, a JSON object a line, in place of the progress

The outputs are written to standard output as one JSON object, a streamed output as a list, and one that got nothing
as null; everything else goes to standard error. Ctrl-C cancels the run, and a second time ends it at once. Nothing
is stored but what --data keeps, and the data of a running server is not touched. SVC_MAX_COST_PER_JOB limits what the
models of the run may cost; the limits of a day count on servers alone.

Exit codes:
  0    completed
  1    failed, or the settings are wrong
  2    wrong usage, or a file that cannot be read
  3    the workflow or the parameters are not valid
  124  not over after --timeout SECONDS
  130  cancelled by Ctrl-C (143 by SIGTERM)`,
  validate: `${FILE_HELP}

It lists every problem with its node, and what the workflow takes and gives if it can run.

${CALLS_HELP}
  --json                writes {"valid", "issues", "inputs", "outputs"} as JSON

Exit codes: 0 valid, if with warnings; 2 wrong usage, or a file that cannot be read; 3 not valid.`,
  nodes: `Without an argument it lists all; with the name of one it shows its properties and outputs; with any other text
it lists those that have it in their name, title or description.

  --json                writes the same as JSON

Exit codes: 0 found, 1 nothing found, 2 wrong usage.`,
  examples: `Each can be run by its id, with params of its own: svc run ID.

  --json                writes the same as JSON`,
  models: `It asks every provider that the settings name (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, SVC_MODEL_SERVERS,
OLLAMA_HOST …) with the keys of this environment, and looks for servers of models on the usual ports of this machine:
Ollama 11434, LM Studio 1234, vLLM 8000, llama.cpp 8080 (not with SVC_PROBE_LOCAL_MODELS=off). Files of the models
folder are those of the provider local. Where none of a provider's models can be asked, it says why: which key to set,
that it refused the key, that nothing listens at its address, what to install. Asking costs nothing. Keys that people
store with a running server are theirs, and are not used here.

  PROVIDER              this one alone
  --json                writes [{"name", "title", "kind", "base_url", "credential", "status", "reason", "models"}] as
                        JSON; a status is ready, no_key or failed

pull: it fetches FILE, or all files of a repository of the hub, into the models folder (SVC_MODELS_DIR, or models in the
data folder), each checked against its digest and put in its place whole. What was fetched before is not fetched again,
and what broke off goes on. The key HF_TOKEN goes to the hub and to nobody else. Where it went is written to standard
output.

  --hub URL             the hub (without it: SVC_MODEL_HUB_URL)
  --include PATTERN     only files that match; * stands for any characters, ? for one; may be repeated
  --exclude PATTERN     no files that match; may be repeated

Exit codes: 0 done; 1 there is no such PROVIDER, or it is not ready, or the files could not be fetched; 2 wrong usage;
3 a path that may not be used; 130 stopped by Ctrl-C (143 by SIGTERM).`,
  check: `It reads the whole database, its references and its schema, holds jobs, events and graphs against each other, and
compares the files of assets with what was written. SVC_DATA_DIR, SVC_DATABASE_URL and SVC_STORAGE_URL say where they
are; a file in a bucket is fetched, and not kept. Nothing is changed; a server may run, and is seen as it is at one
moment. Where the database lacks commits that were acknowledged, or is missing beside its mark or its key, no server
starts, and this says what is missing.

  --accept-loss         lets the next start go on without that, and write into its log what was lost; no server may run

Exit codes: 0 sound, or a loss is accepted and the rest is sound; 1 not sound, with a line for each finding, or there is
no database; 2 wrong usage.`,
  backup: `DIR is made: the database as it is at one moment, the files of assets, and a manifest with the digest of each. The
server may go on. Files in a bucket (SVC_STORAGE_URL) are fetched. The copy is read again and checked before DIR gets
its name: where a file of an asset is missing or changed, there is no backup. An interrupted backup leaves a folder
DIR.partial-… that may be deleted. DIR lies outside of the data folder, and only its owner may read it.

The master key (master.key in the data folder, or SECRETS_MASTER_KEY) is not included: who reads the backup is not to
read the secrets in it. Keep a copy of the key in another place: jobs that are under way cannot go on without it.

  --force               replaces DIR, if it is a backup
  --incomplete          makes it also where files of assets are missing or changed, and lists those; where DIR is a
                        backup already, it stays as it is then

Exit codes: 0 done; 1 not possible; 2 wrong usage.`,
  restore: `DIR is a backup. Every file of it is compared with its manifest before anything is changed. The server must be
stopped. Jobs go on where they were when the backup was made: what they have done since may be done again.

  --force               where there is data already, moves it aside under names that end with .before-…; nothing is
                        deleted. Without it, a data folder that holds data is left as it is

Files of assets that are there already with the same content take no room again: old and new data share them. Where the
disk has no room for the rest, nothing is copied, and it says how much is missing.

It says which master key the backup was made under, where that is not the present one.

When the command is interrupted while it copies the backup to restore-incoming/ of the data folder, all is as before;
later, no server starts before the same command has come to its end.

Exit codes: 0 done; 1 not possible, the backup is not whole, or a server runs; 2 wrong usage.`,
  compact: `The database is written anew, row by row, and takes the place of the old one when the copy is whole. The server must be
stopped, and the disk needs room for the copy meanwhile. Interrupted, all is as before.

A server gives back by itself what removed jobs took. This is for a database that an older version made and that was
too large to be rewritten at a start, which the log says then, or when much was removed at once.

Exit codes: 0 done; 1 not possible: there is no room, or a server or another program has the database open; 2 wrong usage.`,
  secrets: `The present key is SECRETS_MASTER_KEY, else the one in the file master.key of the data folder. The new one is
SECRETS_MASTER_KEY_NEW; without it one is made, into master.key. The server must be stopped. When the command is
interrupted, the same command goes on where it stopped, and no server starts before it has come to its end.

Backups that were made before can be read with the old key alone. The file of it is kept, as master.key.before-… in
the data folder; an old key that was SECRETS_MASTER_KEY is yours to keep. Delete it with the last of those backups.

Exit codes: 0 done; 1 not possible, or the settings are wrong; 2 wrong usage; 130 stopped by Ctrl-C (143 by SIGTERM).`,
  'deploy-token': `For tooling that deploys: a server does not read this token, and it does not protect the API.

The token is ${TOKEN_VARIABLE}, else the key ${TOKEN_KEY} in FILE. Where there is neither, 32 random bytes in
base64url are made and kept in FILE under that key; only its owner may read FILE then. FILE gets one line more and
keeps every other byte; where it is a mapping in braces, or null, it is written anew, with its values and comments.
Processes that do so at once agree on one token by the file FILE.token; where that is another user's, they refuse.
The token alone goes to standard output, where it came from to standard error.

  --config FILE         a YAML mapping, which need not be there (deployment.yaml in this folder)
  --source              writes environment, file or none in place of the token, and makes none

Exit codes: 0 done; 1 not possible, or what is there is no token; 2 wrong usage.`,
  contract: `OLD and NEW are publications of the contract: folders such as generated/lifecycle-v1, archives that make publish-contract
makes (.tgz), or the index.json of a folder. Each is held against its own digests first.

Every difference is additive (nothing that was good is wrong now), risky (somebody may stumble) or breaking (somebody
will), seen from a client that goes by OLD: what it sends must still be taken, what it gets must be what it expects.
Texts for people are no difference, and nothing of what was only planned is breaking.

  --json                writes {"verdict", "old", "new", "differences"} as JSON

Exit codes: 0 no difference, or additive ones; 2 risky; 3 breaking; 64 wrong usage, or a publication that cannot be read.`,
  conformance: `server: it runs the contract against a server, this project's or another's: what its documents claim is tried with valid and
invalid input and over whole runs, what they do not claim must be absent. It makes workflows, jobs and a secret of its
own there, all with conformance in their names, and removes them again.

  --url URL             where the server answers; a path in it goes before every path of the contract
  --token T             the bearer token to call with
  --other-token T       one of another principal, who must not see the first one's jobs
  --expired-job ID, --swept-job ID  a job past its retention, and one whose events are past theirs
  --profile PROFILE     lifecycle: the SDK's operations and what they stand on; full: everything (the default)
  --only ID             a requirement of spec/requirements.yaml, or the beginning of some, such as server.events; may be
                        repeated
  --format FORMAT       text (the default), json or junit
  --output FILE         writes the report there
  --timeout SECONDS     how long an answer may take (10)
  --patience SECONDS    how long the suite may wait at its end for what comes seldom (0); 27 are enough

Exit codes: 0 nothing failed; 1 a requirement failed; 2 wrong usage, nobody answers, or FILE cannot be written.

client: it plays scenarios at a client, as a server that answers late, twice, in another order or not at all, and judges
by what the client does on the wire. spec/conformance.md tells how a client takes part.

  --exec COMMAND        what does the task of one scenario with the client; started once for each, with SVC_URL, SVC_TOKEN,
                        SVC_SCENARIO and SVC_TASK (JSON). Without it, a client that is started by hand is waited for
  --scenario NAME       a scenario; may be repeated. Without it, all of them
  --list                lists the scenarios with their rules, and plays none
  --port N              the port to listen on; 0, the default, takes any free one
  --pace P              scales the times of the contract that scenarios wait for, such as 70 seconds of silence (1)
  --format FORMAT       text (the default), json or junit, with everything that went over the wire
  --output FILE         writes the report there
  --timeout SECONDS     how long a scenario may take (60)

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
  return `usage: svc COMMAND [ARGUMENT]…\n\n${list.join('\n')}\n\nsvc COMMAND --help tells more; svc --version tells the version.\n`
}

export function isCommandName(name: string | undefined): name is CommandName {
  return name !== undefined && Object.hasOwn(USAGES, name)
}
