// Which name may have been meant, to follow a sentence that says that there is none as it was written.
import { nearest } from '../engine/suggest.ts'

/** Where there is no name near it. */
export const LISTED = ' GET /v1/models lists the models that there are.'

/** Among more names than these nobody looks for the nearest: it would be slow. */
const MOST_NAMES = 1_000

/** ` Did you mean "openai/gpt-4o"?`, by the nearest of the names as `id` shows it; or where to look. */
export function meantBy(written: string, names: readonly string[], id: (name: string) => string): string {
  const near = names.length > MOST_NAMES ? null : nearest(written, names)
  return near === null ? LISTED : ` Did you mean "${id(near)}"?`
}

/** The same for the provider of an id `provider/name`. */
export function meantProvider(model: string, providers: readonly { readonly name: string }[]): string {
  const slash = model.indexOf('/')
  const names = providers.map(({ name }) => name)
  return meantBy(model.slice(0, slash), names, (name) => `${name}${model.slice(slash, slash + MOST_SHOWN)}`)
}

/** How much of the rest of a name is shown. */
const MOST_SHOWN = 100

/** The same for a model of one provider, by what this lists. */
export function meantModel(provider: string, name: string, models: readonly { readonly name: string }[]): string {
  const names = models.map((one) => one.name)
  return meantBy(name, names, (near) => `${provider}/${near}`)
}
