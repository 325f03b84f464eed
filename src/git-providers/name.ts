import { fault } from '../api/errors.ts'
import type { ProviderType } from '../api/git-providers.ts'
import { NAME_CHARACTERS } from './limits.ts'

/** How many parts the name of a repository has. */
const PARTS: Record<ProviderType, [least: number, most: number]> = {
  github: [2, 2],
  gitlab: [2, 21],
  bitbucket: [2, 2],
  bitbucket_data_center: [2, 2],
  forgejo: [2, 2],
  azure_devops: [3, 3],
  enterprise_sso: [0, 0],
}

/** A part of a name goes into URLs, paths and command lines: it looks like no option and leads nowhere. */
const PART = /^[\w.][\w.-]*$/

/** `owner/name`, without the ending that clone URLs have. Personal projects of a data center begin with `~`. */
export function repositoryName(text: string): string {
  const name = text.replace(/\.git$/, '')
  const parts = name.replace(/^~/, '').split('/')
  const isPart = (part: string) => PART.test(part) && !part.includes('..') && part !== '.'
  if (name.length > NAME_CHARACTERS || parts.length < 2 || !parts.every(isPart))
    throw fault('invalid_request', 'A repository is named by owner/name')
  return name
}

export function fits(provider: ProviderType, name: string): boolean {
  const [least, most] = PARTS[provider]
  const count = name.split('/').length
  return count >= least && count <= most && (provider === 'bitbucket_data_center' || !name.startsWith('~'))
}

/** A repository as it was ordered: by its name, or by an address as a browser or a clone shows it. */
export function parseOrdered(text: string): { url: string } | { name: string } {
  if (!/^https?:\/\//i.test(text)) return { name: repositoryName(text) }
  // Parsing would forgive these.
  const url = /[\s\\%]|\.\./.test(text) ? null : URL.parse(text)
  if (!url || url.username || url.password || url.search || url.hash)
    throw fault('invalid_request', 'The address of a repository is https://host/owner/name')
  return { url: `${url.origin}${url.pathname.replace(/\/+$/, '')}` }
}

/** The name in an address below a provider's own. */
export function nameIn(provider: ProviderType, path: string): string {
  if (provider === 'azure_devops') return repositoryName(path.replace('/_git/', '/'))
  if (provider === 'bitbucket_data_center') return repositoryName(path.replace(/^scm\//, ''))
  return repositoryName(path)
}

/** The address a repository is fetched from. */
export function cloneUrl(provider: ProviderType, site: string, name: string): string {
  if (provider === 'bitbucket_data_center') return `${site}/scm/${name}.git`
  if (provider !== 'azure_devops') return `${site}/${name}.git`
  const [organisation, project, repository] = name.split('/')
  return `${site}/${organisation}/${project}/_git/${repository}`
}
