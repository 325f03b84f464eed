import { posix } from 'node:path'
import { fault } from '../api/errors.ts'
import { isBranchName } from '../api/git.ts'

/** Where a skill, a plugin or a marketplace comes from, as people write it. */
export interface Source {
  /** `github:owner/name`, an address of a repository, or a folder. */
  source: string
  ref: string | null
  repo_path: string | null
}

/** The same, understood. */
export type Place =
  /** Of a sandbox: absolute, below its home (`~`), or below its working directory. */
  | { kind: 'folder'; path: string }
  | {
      kind: 'repository'
      url: string
      /** `owner/name`, where it was named so: whoever has a token for another host of GitHub means that. */
      github: string | null
      /** A branch, a tag or a commit; null for what is there by default. */
      ref: string | null
      /** Within it; empty for all of it. */
      folder: string
    }

const FORMS = 'github:owner/name, https://host/owner/name, or a folder of the sandbox'

const GITHUB = /^github:([\w-][\w.-]*\/[\w.-]+?)(?:\.git)?(?:\/(.*))?$/
const TREE = /^(\/.+?)(?:\/tree\/([^/]+)(?:\/(.*))?)?$/

export function placeOf({ source, ref, repo_path }: Source): Place {
  const text = source.trim()
  const [, name, below] = GITHUB.exec(text) ?? []
  if (name) return { ...repository(`https://github.com/${name}.git`, ref, [below, repo_path]), github: name }
  if (/^https?:\/\//i.test(text)) return atAddress(text, ref, repo_path)
  if (/^[\w.+-]+:|^[^/]+@/.test(text) || !/^[~./]|\//.test(text) || text.includes('\0'))
    throw refused(`${shown(text)} is no source. There are: ${FORMS}`)
  if (repo_path !== null) throw refused('repo_path is for repositories: name the folder itself')
  return { kind: 'folder', path: text }
}

/** As a browser shows a folder of a repository, or as it is cloned. */
function atAddress(text: string, ref: string | null, repo_path: string | null): Place {
  const url = /[\s\\]/.test(text) ? null : URL.parse(text)
  if (!url || url.search || url.hash) throw refused(`${shown(text)} is no address of a repository`)
  if (url.username || url.password)
    throw refused('An address must not hold what opens it: store a token for the git host')
  const [, path, tree, below] = TREE.exec(url.pathname.replace(/\/+$/, '')) ?? []
  if (!path) throw refused(`${shown(text)} is no address of a repository`)
  const named = tree === undefined || tree === 'HEAD' ? null : decodeURIComponent(tree)
  return repository(`${url.origin}${path}`, ref ?? named, [below && decodeURIComponent(below), repo_path])
}

function repository(url: string, ref: string | null, below: (string | null | undefined)[]) {
  if (ref !== null && !isBranchName(ref)) throw refused(`${shown(ref)} is no branch, tag or commit`)
  const folder = posix.normalize(below.filter(Boolean).join('/')).replace(/^(\.?\/)+|\/+$|^\.$/g, '')
  if (folder.split('/').includes('..') || folder.includes('\0')) throw refused('repo_path leads out of the repository')
  return { kind: 'repository' as const, url, github: null, ref, folder }
}

/** What a thing from there is called, should it not say so itself. */
export function nameOf(place: Place): string {
  const path = place.kind === 'folder' ? place.path : place.folder || place.url.replace(/\.git$/, '')
  return posix.basename(path)
}

/** One text that says all of a source, for those who can give no more. */
export function inOne({ source, ref, repo_path }: Source): string {
  if (repo_path === null && ref === null) return source
  const place = placeOf({ source, ref, repo_path })
  if (place.kind === 'folder') return source
  const { github, url, folder } = place
  return github && ref === null ? `github:${github}/${folder}` : `${url}/tree/${place.ref ?? 'HEAD'}/${folder}`
}

const shown = (text: string): string => JSON.stringify(text.slice(0, 200))
const refused = (why: string) => fault('package_not_fetched', why)
