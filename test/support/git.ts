import { sh } from './bash.ts'
import type { TestServer } from './server.ts'

/** Makes a repository inside the sandbox, below its working directory, and tells its path there. */
export async function repository(server: TestServer, name: string, script = ''): Promise<string> {
  const shown = await sh(
    server,
    `${IDENTITY}; mkdir -p ${name} && cd ${name} && git init -q -b main . && pwd\n${script}`,
  )
  return shown.split('\n', 1)[0]!
}

export const IDENTITY =
  'export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org'

/**
 * Everything a repository can have run when somebody looks at it. `$canary` is a program that leaves a trace; it is given as an
 * absolute path, with an argument that says for what it was run.
 */
export const HOSTILE = `
canary=$PWD/../canary.sh
trace=$PWD/../trace
rm -f "$trace"
printf '#!/bin/sh\\necho "$*" >> "%s"\\ncat\\n' "$trace" > "$canary"
chmod +x "$canary"
set_() { git config "$1" "$canary $1"; }
for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand \\
  diff.external diff.evil.command diff.evil.textconv diff.bin.textconv merge.evil.driver filter.evil.clean filter.evil.smudge \\
  filter.evil.process 'filter.e=v.il x.clean' credential.helper gpg.program gpg.ssh.program pager.diff pager.log pager.status \\
  sequence.editor interactive.diffFilter uploadpack.packObjectsHook trailer.x.command browser.x.cmd; do set_ "$key"; done
for alias in diff log status rev-parse ls-files cat-file diff-tree config; do git config "alias.$alias" "!$canary alias.$alias"; done
git config filter.evil.required true
git config core.hooksPath "$PWD/../hooks"
git config log.showSignature true
git config diff.ignoreSubmodules none
git config protocol.ext.allow always
git config protocol.allow always
git config extensions.partialClone origin
git config remote.origin.promisor true
git config remote.origin.url "ext::$canary remote.url"
git config remote.origin.uploadpack "$canary uploadpack"
git config core.repositoryformatversion 1
mkdir -p ../hooks .git/hooks
for hook in post-index-change post-checkout pre-commit fsmonitor-watchman reference-transaction pre-auto-gc; do
  printf '#!/bin/sh\\n"%s" hook %s\\n' "$canary" $hook > ../hooks/$hook
  chmod +x ../hooks/$hook
  cp ../hooks/$hook .git/hooks/$hook
done
printf '[filter "included"]\\n\\tclean = %s included.clean\\n\\tprocess = %s included.process\\n' "$canary" "$canary" > ../included.config
git config include.path "$PWD/../included.config"
`
