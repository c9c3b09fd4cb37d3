#!/bin/sh
# Takes the files from the npm package that devserver/browsertest has installed.
set -eu
package=../../../devserver/browsertest/node_modules/swagger-ui-dist
cp "$package/LICENSE" "$package/NOTICE" .
for file in swagger-ui-bundle.js swagger-ui-bundle.js.LICENSE.txt swagger-ui.css; do
	gzip -9nc "$package/$file" >"$file.gz"
done
